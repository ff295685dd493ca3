# run: static
def f(x, flag: bool):
  y = x * 2
  if flag:
    return x
  return y
# call: f(torch.ones([2]), True)
# call: f(torch.ones([2]), False)
# ---- expect
f(torch.ones([2]), True): tensor([1.0, 1.0])
f(torch.ones([2]), False): tensor([2.0, 2.0])
# f
f: 2 plans
plan for x: Float(*), flag: True
plan for x: Float(*), flag: False
  1 fallback: aten::mul.Scalar  # result-is-an-argument.py:3:6
