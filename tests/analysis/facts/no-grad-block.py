# run: facts, inline
def f(x):
  with torch.no_grad():
    a = x * 2
  b = a * 3
  return a, b, x * a
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
%x: tensor(Float, [int]) on cpu, requires a gradient
%a: tensor(Float, [int]) on cpu
%b: tensor(Float, [int]) on cpu
%9: tensor(Float, [int]) on cpu
