# run: run
def f(x, n: int):
  print("before")
  y = x.view(n)
  print("after")
  return y
# call: f(torch.ones(4), 4)
# call: f(torch.ones(4), 3)
# ---- expect
f(torch.ones(4), 4) -> tensor([1.0, 1.0, 1.0, 1.0])
  result shares memory with x
  prints before
  prints after
f(torch.ones(4), 3) raises RuntimeError: shape '[3]' is invalid for input of size 4
  prints before
