# run: guards
# Another kind of element: the guard fails, and the rest of the program runs unoptimized.
def f(l: List[Tensor], i: int):
  a = l[i]
  return a * 2 + a
# call: f([torch.ones(2)], 0)
# call: f([torch.ones(2)], 0)
# call: f([torch.ones(2, 2)], 0)
# call: f([torch.arange(2)], 0)
# ---- expect
# f
plan: gradients on
  guard a: Float(*), failed 2 times
