# run: facts, inline
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: tensor(Float, [int]) on cpu, requires no gradient
%7: tensor(Float, [int]) on cpu, requires no gradient
%5: tensor(Float, [int]) on cpu, requires no gradient
