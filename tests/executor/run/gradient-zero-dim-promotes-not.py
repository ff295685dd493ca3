# run: run
def f(x, s):
  return (x * s + s) / s
# call: f(torch.randn(2, dtype=torch.float16).requires_grad_(), torch.tensor(2.0, dtype=torch.float64).requires_grad_())
# ---- expect
f(torch.randn(2, dtype=torch.float16).requires_grad_(), torch.tensor(2.0, dtype=torch.float64).requires_grad_()) -> tensor([2.541, 0.70654], dtype=float16, requires_grad=True)
  gradient of x: tensor([1.0, 2.0], dtype=float16)
  gradient of s: tensor(0.00048828, dtype=float64)
