# run: compile, simplify-branches, dce
def f(x, n: int):
  a = 0
  b = 0
  for i in range(n):
    a = a + i
    b = b + a
  return x
# ---- expect
graph(%x : Tensor,
      %n : int):
  return (%x)
