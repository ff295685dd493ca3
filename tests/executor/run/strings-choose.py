# run: run
def f(x, mode: str):
  if mode == "sum":
    return x.sum()
  elif mode in ("mean", "average"):
    return x.mean()
  raise ValueError("unknown mode " + mode)
# call: f(torch.ones(2), "sum")
# call: f(torch.ones(2), "average")
# call: f(torch.ones(2), "max")
# ---- expect
f(torch.ones(2), "sum") -> tensor(2.0)
f(torch.ones(2), "average") -> tensor(1.0)
f(torch.ones(2), "max") raises ValueError: unknown mode max
