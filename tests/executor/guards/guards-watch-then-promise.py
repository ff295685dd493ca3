# run: guards
# The first call's plan watches; the second's promises what went by.
def f(l: List[Tensor], i: int):
  a = l[i]
  return a * 2 + a
# call: f([torch.ones(2)], 0)
# call: f([torch.ones(3)], 0)
# call: f([torch.ones(3)], 0)
# ---- expect
# f
plan: gradients on
  guard a: Float(*)
