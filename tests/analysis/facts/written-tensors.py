# run: facts
# Writing keeps dtype and rank, and may bring a gradient.
def f(x, y):
  a = x.clone()
  a.add_(y)
  a[0] = 3
  b = a * 2
  return a, b
# call: f(torch.ones(2), torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2), torch.ones(2).requires_grad_())
%x: tensor(Float, [int]) on cpu, requires no gradient
%y: tensor(Float, [int]) on cpu, requires a gradient
%a: tensor(Float, [int]) on cpu
%5: tensor(Float, [int]) on cpu
%9: tensor(Float, []) on cpu
%13: tensor(?, ?), requires no gradient
%15: tensor(Float, []) on cpu
%b: tensor(Float, [int]) on cpu
