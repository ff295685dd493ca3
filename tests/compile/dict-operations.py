# run: compile
def f(d: Dict[str, int]):
  d["a"] = 1
  d["b"] += 2
  del d["c"]
  s = 0
  for k in d:
    s += d[k]
  return s, "a" in d, {"x": 1}, {}
# ---- expect
