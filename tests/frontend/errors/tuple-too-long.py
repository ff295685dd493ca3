# run: compile
def f(x: int):
  t = (x,) * 1000
  t = t + (1, 2, 3)
  return t + t  # error: a tuple that is joined from others has at most 1024 elements
