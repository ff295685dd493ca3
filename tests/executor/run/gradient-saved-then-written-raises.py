# run: run
# Autograd refuses to differentiate with what was written after it had been kept; plans must refuse too.
def f(x):
  y = x.exp()
  z = y * 2
  y.add_(1)
  return z + y
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([15.008, 3.2371], requires_grad=True)
  gradients raise error: one of the variables needed for gradient computation has been modified by an inplace operation: [CPUFloatType [2]] is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
