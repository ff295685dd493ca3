# run: compile
def f(x: int):
  return torch.jit.annotate(str, x) # error: expected an expression of type str but found int
