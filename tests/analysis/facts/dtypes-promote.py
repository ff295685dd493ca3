# run: facts
def f(x, y, n: int, v: float):
  return x + y, x + n, x * v, x / n, x > y, x & x, x.sum(), x.mean(), x.double()
# call: f(torch.arange(3), torch.arange(3), 2, 0.5)
# call: f(torch.arange(3.), torch.arange(3), 2, 0.5)
# ---- expect
# f(torch.arange(3), torch.arange(3), 2, 0.5)
%x: tensor(Long, [int]) on cpu, requires no gradient
%y: tensor(Long, [int]) on cpu, requires no gradient
%5: tensor(Long, [int]) on cpu, requires no gradient
%7: tensor(Long, [int]) on cpu, requires no gradient
%8: tensor(Float, [int]) on cpu, requires no gradient
%9: tensor(Float, [int]) on cpu, requires no gradient
%10: tensor(Bool, [int]) on cpu, requires no gradient
%11: tensor(Long, [int]) on cpu, requires no gradient
%13: tensor(Long, []) on cpu, requires no gradient
%15: tensor(Long, []) on cpu, requires no gradient
%20: tensor(Double, [int]) on cpu, requires no gradient
# f(torch.arange(3.), torch.arange(3), 2, 0.5)
%x: tensor(Float, [int]) on cpu, requires no gradient
%y: tensor(Long, [int]) on cpu, requires no gradient
%5: tensor(Float, [int]) on cpu, requires no gradient
%7: tensor(Float, [int]) on cpu, requires no gradient
%8: tensor(Float, [int]) on cpu, requires no gradient
%9: tensor(Float, [int]) on cpu, requires no gradient
%10: tensor(Bool, [int]) on cpu, requires no gradient
%11: tensor(Float, [int]) on cpu, requires no gradient
%13: tensor(Float, []) on cpu, requires no gradient
%15: tensor(Float, []) on cpu, requires no gradient
%20: tensor(Double, [int]) on cpu, requires no gradient
