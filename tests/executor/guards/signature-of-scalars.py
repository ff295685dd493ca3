# run: guards
# The value of a bool; of numbers and strings nothing.
def f(x, a: bool, n: int, v: float, s: str):
  if a and s == "sum":
    return x.sum() * n
  return x * v
# call: f(torch.ones(2), True, 1, 1.0, "sum")
# call: f(torch.ones(2), True, 2, 2.0, "sum")
# call: f(torch.ones(2), False, 2, 2.0, "sum")
# call: f(torch.ones(2), True, 2, 2.0, "mean")
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  input a: True
plan: gradients on
  input x: Float(*)
  input a: False
