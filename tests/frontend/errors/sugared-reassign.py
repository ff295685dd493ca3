# run: compile
def f(x: int):
  y = torch.relu
  if x > 1:
    y = torch.tanh # error: is not a first-class value.  Only reassignments to first-class values are allowed
