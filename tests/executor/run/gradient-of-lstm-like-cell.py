# run: run
def f(x, h, c, w):
  g = torch.cat([x, h], 1) @ w
  i, f, o, n = g.chunk(4, 1)
  c = f.sigmoid() * c + i.sigmoid() * n.tanh()
  return o.sigmoid() * c.tanh(), c
# call: f(torch.randn(1, 2), torch.randn(1, 2).requires_grad_(), torch.randn(1, 2), torch.randn(4, 8).requires_grad_())
# ---- expect
f(torch.randn(1, 2), torch.randn(1, 2).requires_grad_(), torch.randn(1, 2), torch.randn(4, 8).requires_grad_()) -> (tensor([[0.059199, -0.07097]], requires_grad=True), tensor([[0.22822, -0.73778]], requires_grad=True))
  gradient of h: tensor([[0.36743, 1.8091]])
  gradient of w: tensor([[0.45681, 0.33027, -0.3439, -1.0852, 0.067152, -0.194, 0.089489, 0.49257], [-0.086983, -0.062887, 0.065484, 0.20663, -0.012787, 0.036941, -0.01704, -0.093792], [-0.64587, -0.46696, 0.48624, 1.5343, -0.094946, 0.2743, -0.12653, -0.69643], [0.1685, 0.12183, -0.12686, -0.40029, 0.024771, -0.071562, 0.03301, 0.18169]])
