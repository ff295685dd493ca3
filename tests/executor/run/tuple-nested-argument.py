# run: run
def f(t: Tuple[Tensor, Tuple[Optional[Tensor], int]]):
  a, (b, n) = t
  if b is not None:
    a = a + b * n
  return a
# call: f((torch.ones(2), (None, 2)))
# call: f((torch.ones(2), (torch.ones(2), 2)))
# ---- expect
f((torch.ones(2), (None, 2))) -> tensor([1.0, 1.0])
  result is t[0]
f((torch.ones(2), (torch.ones(2), 2))) -> tensor([3.0, 3.0])
