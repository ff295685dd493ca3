# run: run
def f(d: Dict[str, Tensor]):
  a = d["a"]
  d["a"] = a + 1
  a.mul_(10)
  return d["a"], a
# call: f({"a": torch.ones(2)})
# ---- expect
f({"a": torch.ones(2)}) -> (tensor([2.0, 2.0]), tensor([10.0, 10.0]))
  d becomes {'a': tensor([2.0, 2.0])}
  result[1] is d['a']
