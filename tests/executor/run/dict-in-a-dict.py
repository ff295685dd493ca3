# run: run
# What is put into a dict after another one has got it is in both.
def f(x):
  d: Dict[str, Dict[str, Tensor]] = {}
  e: Dict[str, Tensor] = {}
  d["e"] = e
  e["k"] = x + 1
  items = d.items()
  e["l"] = x * 2
  total = x
  for name, inner in items:
    for key in inner.keys():
      total = total + inner[key] * len(inner)
  return d, total, len(items)
# call: f(torch.ones(2))
# ---- expect
f(torch.ones(2)) -> ({'e': {'k': tensor([2.0, 2.0]), 'l': tensor([2.0, 2.0])}}, tensor([9.0, 9.0]), 1)
