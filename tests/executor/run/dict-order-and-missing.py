# run: run
def f(d: Dict[str, Tensor], k: str):
  out = [k2 for k2 in d.keys()]
  if k in d:
    return out, d.pop(k) + 1, len(d)
  d[k] = torch.zeros(1)
  return out, d[k], len(d)
# call: f({"b": torch.ones(1), "a": torch.ones(2)}, "a")
# call: f({"b": torch.ones(1)}, "c")
# ---- expect
f({"b": torch.ones(1), "a": torch.ones(2)}, "a") -> (['b', 'a'], tensor([2.0, 2.0]), 1)
  d becomes {'b': tensor([1.0])}
f({"b": torch.ones(1)}, "c") -> (['b'], tensor([0.0]), 2)
  d becomes {'b': tensor([1.0]), 'c': tensor([0.0])}
