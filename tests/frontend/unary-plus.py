# run: compile
def f(x, n: int, b: bool, z: float):
  return +x, +n, +b, +z, +1, +-2, x + +x * -n
