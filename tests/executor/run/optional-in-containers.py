# run: run
def f(d: Dict[str, Optional[Tensor]], l: List[Optional[int]]):
  t = 0
  for x in l:
    if x is not None:
      t += x
  y = d["a"]
  if y is not None:
    t += y.dim()
  return t, d["b"] is None
# call: f({"a": torch.ones(1), "b": None}, [1, None, 3])
# call: f({"a": None, "b": torch.ones(1)}, [])
# ---- expect
f({"a": torch.ones(1), "b": None}, [1, None, 3]) -> (5, True)
f({"a": None, "b": torch.ones(1)}, []) -> (0, False)
