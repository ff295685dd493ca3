# run: run
def f(x):
  x += 1
  x /= 2
  return x
# call: f(torch.ones(2))
# call: f(torch.ones(2, dtype=torch.int64))
# ---- expect
f(torch.ones(2)) -> tensor([1.0, 1.0])
  result is x
f(torch.ones(2, dtype=torch.int64)) raises RuntimeError: result type Float can't be cast to the desired output type Long
  x becomes tensor([2, 2], dtype=int64)
