# run: run
def f(n: int):
  d = {1: "a", 2: "b"}
  d[n] = "c"
  return d, d.get(3), 2 in d
# call: f(2)
# call: f(3)
# ---- expect
f(2) -> ({1: 'a', 2: 'c'}, None, True)
f(3) -> ({1: 'a', 2: 'b', 3: 'c'}, 'c', True)
