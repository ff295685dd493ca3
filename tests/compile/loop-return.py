# run: compile
# A return leaves two loops.
def f(n: int) -> int:
  for i in range(n):
    for j in range(n):
      if i * j > 10:
        return i
  return -1
# ---- expect
