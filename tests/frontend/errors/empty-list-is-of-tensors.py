# run: compile
def f(x: int):
  y = []
  if x > 1:
    y = [1] # error: Empty lists default to List[Tensor]
  return y
