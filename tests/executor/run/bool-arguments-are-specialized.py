# run: run
def f(x, a: bool, b: bool):
  if a:
    x = x + 1
  if b:
    x = x * 10
  return x, a, not b
# call: f(torch.ones(1), True, True)
# call: f(torch.ones(1), True, False)
# call: f(torch.ones(1), False, True)
# ---- expect
f(torch.ones(1), True, True) -> (tensor([20.0]), True, False)
f(torch.ones(1), True, False) -> (tensor([2.0]), True, True)
f(torch.ones(1), False, True) -> (tensor([10.0]), False, False)
