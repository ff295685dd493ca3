# run: facts
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: ? of unknown rank
%2: ? of unknown rank
%5: ? of unknown rank
