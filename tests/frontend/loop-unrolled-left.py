# run: run
# What a loop over a tuple binds first is seen after it where each way out of the loop has bound it.
def target(x: int):
  for a in (1, 2, 3):
    if a == x:
      break
  return a
def before_the_break(x: int):
  for a in (10, 20, 30):
    b = a + x
    if b > 21:
      break
  return b
# call: target(2)
# call: target(7)
# call: before_the_break(5)
# call: before_the_break(20)
# ---- expect
target(2) -> 2
target(7) -> 3
before_the_break(5) -> 25
before_the_break(20) -> 30
