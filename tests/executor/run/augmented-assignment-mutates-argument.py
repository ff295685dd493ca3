# run: run
def f(x, y, l: List[int]):
  x += y
  x *= 2
  l += [4]
  z = y
  z = z + 1
  return z
# call: f(torch.ones(2), torch.ones(2), [1])
# call: f(torch.ones(2, dtype=torch.int64), torch.ones(2), [1])
# ---- expect
f(torch.ones(2), torch.ones(2), [1]) -> tensor([2.0, 2.0])
  x becomes tensor([4.0, 4.0])
  l becomes [1, 4]
f(torch.ones(2, dtype=torch.int64), torch.ones(2), [1]) raises RuntimeError: result type Float can't be cast to the desired output type Long
