# run: compile
def f(x: Tuple[int, str, float], i: int):
  a, *b = x
  (c, d), e = (1, 2), x[-1]
  return a, b, c + d, e, x[1:], x[::-1], (1, 2, 3)[i]
# ---- expect
