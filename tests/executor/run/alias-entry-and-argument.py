# run: run
def f(x, d: Dict[str, Tensor]):
  y = d["a"] + 1
  x.fill_(5.0)
  z = d["a"] + 1
  return y, z
# let: a = torch.zeros(2)
# call: f(a, {"a": a})
# call: f(a, {"a": torch.zeros(2)})
# ---- expect
f(a, {"a": a}) -> (tensor([1.0, 1.0]), tensor([6.0, 6.0]))
  x becomes tensor([5.0, 5.0])
  d becomes {'a': tensor([5.0, 5.0])}
f(a, {"a": torch.zeros(2)}) -> (tensor([1.0, 1.0]), tensor([1.0, 1.0]))
  x becomes tensor([5.0, 5.0])
