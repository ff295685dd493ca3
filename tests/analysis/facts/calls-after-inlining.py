# run: facts, inline
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: Float(%x.size(0)) on cpu, requires no gradient
%7: Float(%x.size(0)) on cpu, requires no gradient
%5: Float(%x.size(0)) on cpu, requires no gradient
