# run: run
def f(s: str, x):
  n = int(s)
  b = bool(x)
  return 1
# call: f("12", torch.ones(1))
# call: f("twelve", torch.ones(1))
# call: f("12", torch.ones(2))
# ---- expect
f("12", torch.ones(1)) -> 1
f("twelve", torch.ones(1)) raises RuntimeError: invalid literal for int() with base 10: 'twelve'
f("12", torch.ones(2)) raises RuntimeError: Boolean value of Tensor with more than one value is ambiguous
