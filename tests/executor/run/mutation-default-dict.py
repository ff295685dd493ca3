# run: run
def f(d: Dict[str, int], k: str):
  d[k] = d.get(k, 0) + 1
  d.setdefault("other", 5)
  return len(d), d[k]
# call: f({"a": 1}, "a")
# call: f({"a": 1}, "b")
# ---- expect
f({"a": 1}, "a") -> (2, 2)
  d becomes {'a': 2, 'other': 5}
f({"a": 1}, "b") -> (3, 1)
  d becomes {'a': 1, 'b': 1, 'other': 5}
