# run: run
# The block is left as with Python: gradients are on again.
def f(x, n: int):
  with torch.no_grad():
    y = x * 2
    if n < 0:
      raise ValueError("negative")
  return y * x
# call: f(torch.randn(2).requires_grad_(), 1)
# call: f(torch.randn(2).requires_grad_(), -1)
# call: f(torch.randn(2).requires_grad_(), 2)
# ---- expect
f(torch.randn(2).requires_grad_(), 1) -> tensor([4.7493, 0.1722], requires_grad=True)
  gradient of x: tensor([3.082, -1.1737])
f(torch.randn(2).requires_grad_(), -1) raises ValueError: negative
f(torch.randn(2).requires_grad_(), 2) -> tensor([4.7493, 0.1722], requires_grad=True)
  gradient of x: tensor([3.082, -1.1737])
