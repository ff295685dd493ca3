# run: run
def f(d: Dict[str, Tensor]):
  y = d["a"] * d["b"]
  d["c"] = y.relu()
  return d["c"] * d["a"]
# call: f({"a": torch.randn(2).requires_grad_(), "b": torch.randn(2).requires_grad_()})
# call: f({"a": torch.randn(2), "b": torch.randn(2).requires_grad_()})
# ---- expect
f({"a": torch.randn(2).requires_grad_(), "b": torch.randn(2).requires_grad_()}) -> tensor([0.0, -0.0], requires_grad=True)
  d becomes {'a': tensor([1.541, -0.29343], requires_grad=True), 'b': tensor([-2.1788, 0.56843], requires_grad=True), 'c': tensor([0.0, 0.0], requires_grad=True)}
  gradient of d['a']: tensor([0.0, 0.0])
  gradient of d['b']: tensor([0.0, -0.0])
f({"a": torch.randn(2), "b": torch.randn(2).requires_grad_()}) -> tensor([0.0, -0.0], requires_grad=True)
  d becomes {'a': tensor([1.541, -0.29343]), 'b': tensor([-2.1788, 0.56843], requires_grad=True), 'c': tensor([0.0, 0.0], requires_grad=True)}
  gradient of d['b']: tensor([0.0, -0.0])
