# run: compile
def g(x: int, y: int = 2, *, z: int = 3):
  return x + y + z
def f(t: Tuple[int, int]):
  return g(1), g(1, z=4), g(*t), g(y=1, x=2)
# ---- expect
