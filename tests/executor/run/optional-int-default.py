# run: run
def f(x, k: Optional[int] = None):
  if k is None:
    return x.sum()
  return x[k]
# call: f(torch.arange(3.))
# call: f(torch.arange(3.), 1)
# ---- expect
f(torch.arange(3.)) -> tensor(3.0)
f(torch.arange(3.), 1) -> tensor(1.0)
  result shares memory with x, from element 1
