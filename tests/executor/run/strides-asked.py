# run: run
def f(x):
  y = x.t()
  return y.stride(), y.is_contiguous(), y.contiguous().stride(), x.storage_offset()
# call: f(torch.ones(2, 3))
# call: f(torch.ones(2, 3).t())
# call: f(torch.ones(3, 3)[1:])
# ---- expect
f(torch.ones(2, 3)) -> ([1, 3], False, [2, 1], 0)
f(torch.ones(2, 3).t()) -> ([3, 1], True, [3, 1], 0)
f(torch.ones(3, 3)[1:]) -> ([1, 3], False, [2, 1], 3)
