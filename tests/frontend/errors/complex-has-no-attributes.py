# run: compile
def f(z: complex):
  return z.real # error: 'complex' object has no attribute or method 'real'
