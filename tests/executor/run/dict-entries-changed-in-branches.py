# run: run
# An entry that only a branch changes is read when the plan is entered; where the call does not take the branch, it is
# the input throughout.
def f(d: Dict[str, Tensor], shifted: bool):
  a = d["a"] * 2
  if shifted:
    d["a"] = a
    d["b"] = d["b"] + a
  y = d["a"] + d["b"]
  return (y * d["b"]).relu()
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, False)
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, True)
# call: f({"a": torch.ones(3)}, False)
# call: f({"a": torch.ones(3), "b": torch.arange(3)}, False)
# call: f({"a": torch.ones(3), "b": torch.arange(3)}, True)
# call: f({"a": torch.ones(3).requires_grad_(), "b": torch.arange(3.)}, False)
# ---- expect
f({"a": torch.ones(2), "b": torch.ones(2)}, False) -> tensor([2.0, 2.0])
f({"a": torch.ones(2), "b": torch.ones(2)}, True) -> tensor([15.0, 15.0])
  d becomes {'a': tensor([2.0, 2.0]), 'b': tensor([3.0, 3.0])}
f({"a": torch.ones(3)}, False) raises RuntimeError: KeyError: b
f({"a": torch.ones(3), "b": torch.arange(3)}, False) -> tensor([0.0, 2.0, 6.0])
f({"a": torch.ones(3), "b": torch.arange(3)}, True) -> tensor([8.0, 15.0, 24.0])
  d becomes {'a': tensor([2.0, 2.0, 2.0]), 'b': tensor([2.0, 3.0, 4.0])}
f({"a": torch.ones(3).requires_grad_(), "b": torch.arange(3.)}, False) -> tensor([0.0, 2.0, 6.0], requires_grad=True)
  gradient of d['a']: tensor([0.0, 1.5, 4.0])
