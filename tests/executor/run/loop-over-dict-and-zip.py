# run: run
def f(d: Dict[str, int], l: List[int]):
  t = 0
  names: List[str] = []
  for k, v in d.items():
    t = t * 10 + v
    names.append(k)
  for a, (i, b) in zip(l, enumerate(d.values())):
    t += a * b * i
  return t, names
# call: f({"x": 1, "y": 2, "z": 3}, [5, 6])
# call: f({"x": 0}, [])
# ---- expect
f({"x": 1, "y": 2, "z": 3}, [5, 6]) -> (135, ['x', 'y', 'z'])
f({"x": 0}, []) -> (0, ['x'])
