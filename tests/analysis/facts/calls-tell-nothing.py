# run: facts
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: tensor(?, ?)
%2: tensor(?, ?)
%5: tensor(?, ?)
