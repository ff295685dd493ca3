# run: run
def f(x, training: bool):
  return torch.nn.functional.dropout(x, 0.5, training) * 2
# call: f(torch.ones(6), True)
# call: f(torch.ones(6), False)
# ---- expect
f(torch.ones(6), True) -> tensor([4.0, 4.0, 4.0, 4.0, 0.0, 4.0])
  draws random numbers
f(torch.ones(6), False) -> tensor([2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
