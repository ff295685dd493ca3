# run: compile
def f(x: int) -> None:
  if x > 1:
    return
  print(x)
# ---- expect
