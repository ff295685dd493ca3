# run: run
def f(x, w):
  with torch.autocast("cpu", dtype=torch.bfloat16):
    y = x @ w
    z = y + x
  return y, z, x @ w
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# call: f(torch.ones(2, 2).requires_grad_(), torch.ones(2, 2))
# ---- expect
f(torch.ones(2, 2), torch.ones(2, 2)) -> (tensor([[2.0, 2.0], [2.0, 2.0]], dtype=bfloat16), tensor([[3.0, 3.0], [3.0, 3.0]]), tensor([[2.0, 2.0], [2.0, 2.0]]))
f(torch.ones(2, 2).requires_grad_(), torch.ones(2, 2)) -> (tensor([[2.0, 2.0], [2.0, 2.0]], dtype=bfloat16, requires_grad=True), tensor([[3.0, 3.0], [3.0, 3.0]], requires_grad=True), tensor([[2.0, 2.0], [2.0, 2.0]], requires_grad=True))
  gradient of x: tensor([[8.0208, 8.3542], [12.646, 12.979]])
