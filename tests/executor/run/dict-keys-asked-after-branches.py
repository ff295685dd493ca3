# run: run
def f(d: Dict[str, Tensor], shifted: bool):
  if shifted:
    d["a"] = d["b"] + 1
  y = d["b"] * 2
  if "a" in d:
    y = y + d["a"]
  c = d.get("a")
  if c is not None:
    y = y * c
  return y + d.get("e", y)
# call: f({"b": torch.ones(2)}, False)
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, False)
# call: f({"a": torch.randn(2), "b": torch.randn(2)}, True)
# call: f({"b": torch.randn(2), "e": torch.randn(1)}, True)
# call: f({"a": torch.randn(2).requires_grad_(), "b": torch.randn(2)}, False)
# call: f({"a": torch.randn(2)}, False)
# ---- expect
f({"b": torch.ones(2)}, False) -> tensor([4.0, 4.0])
f({"a": torch.ones(2), "b": torch.ones(2)}, False) -> tensor([6.0, 6.0])
f({"a": torch.randn(2), "b": torch.randn(2)}, True) -> tensor([13.052, 8.4861])
  d becomes {'a': tensor([-1.1788, 1.5684]), 'b': tensor([-2.1788, 0.56843])}
f({"b": torch.randn(2), "e": torch.randn(1)}, True) -> tensor([12.109, -2.0942])
  d becomes {'b': tensor([1.541, -0.29343]), 'e': tensor([-2.1788]), 'a': tensor([2.541, 0.70657])}
f({"a": torch.randn(2).requires_grad_(), "b": torch.randn(2)}, False) -> tensor([-8.6807, -0.49498], requires_grad=True)
  gradient of d['a']: tensor([-2.5512, 2.2])
f({"a": torch.randn(2)}, False) raises RuntimeError: KeyError: b
