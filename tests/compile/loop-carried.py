# run: compile
# The seed's loop: what changes is carried, the count is the loop's own.
def f(x):
  z = x
  for i in range(x.size(0)):
    z = z * z
  return z
# ---- expect
