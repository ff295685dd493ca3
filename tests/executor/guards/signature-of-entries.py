# run: guards
def f(d: Dict[str, Tensor], l: List[Tensor]):
  y = d["a"] * l[0]
  if "b" in d:
    y = y + d["b"]
  return y
# call: f({"a": torch.ones(2)}, [torch.ones(2)])
# call: f({"a": torch.ones(2), "b": torch.ones(2, 2)}, [torch.arange(2)])
# ---- expect
# f
plan: gradients on
  attribute d['a']: Float(*)
  attribute d['b']: None
  attribute l[0]: Float(*)
plan: gradients on
  attribute d['a']: Float(*)
  attribute d['b']: Float(*, *)
  attribute l[0]: Long(*)
