# run: run
def f(x, v):
  y = x * 1
  y.view(-1)[0] = v
  return y * x
# let: w = torch.randn(2, 2).requires_grad_()
# call: f(w, torch.tensor(3.0).requires_grad_())
# call: f(w.t(), torch.tensor(3.0))
# ---- expect
f(w, torch.tensor(3.0).requires_grad_()) -> tensor([[4.623, 0.086101], [4.7471, 0.32311]], requires_grad=True)
  gradient of x: tensor([[3.0, -0.78248], [-7.2626, 2.2737]])
  gradient of v: tensor(1.541)
f(w.t(), torch.tensor(3.0)) raises RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.
