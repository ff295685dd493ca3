# run: run
# The region kept `y` for its gradient: autograd refuses.
def f(x):
  y = x * 1
  z = y * y * x
  y.add_(1)
  return z
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([3.6594, -0.025264], requires_grad=True)
  gradients raise error: one of the variables needed for gradient computation has been modified by an inplace operation: [CPUFloatType [2]] is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
