# run: run
# Two entries are one tensor: what is written through one shows in the other.
def f(d: Dict[str, Tensor]):
  d["a"].add_(1)
  y = d["b"] * 2
  d["b"].add_(1)
  return y, d["a"] + 0
# let: x = torch.zeros(2)
# call: f({"a": x, "b": x})
# call: f({"a": x, "b": torch.ones(2)})
# ---- expect
f({"a": x, "b": x}) -> (tensor([2.0, 2.0]), tensor([2.0, 2.0]))
  d becomes {'a': tensor([2.0, 2.0]), 'b': tensor([2.0, 2.0])}
  let x becomes tensor([2.0, 2.0])
f({"a": x, "b": torch.ones(2)}) -> (tensor([2.0, 2.0]), tensor([1.0, 1.0]))
  d becomes {'a': tensor([1.0, 1.0]), 'b': tensor([2.0, 2.0])}
  let x becomes tensor([1.0, 1.0])
