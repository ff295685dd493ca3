# run: compile, constant-propagation, dce
def f(x):
  for i in range(3 - 3):
    x = x + i
  while False:
    x = x * 2
  return x
# ---- expect
graph(%x.1 : Tensor):
  return (%x.1)
