# run: facts
def f(x, y):
  return x @ y, torch.matmul(y, x.t()) if y.dim() == 1 else y
# call: f(torch.ones(2, 3), torch.ones(3))
# call: f(torch.ones(2, 3), torch.ones(3, 2))
# call: f(torch.ones(3), torch.ones(3))
# call: f(torch.ones(4, 2, 3), torch.ones(3, 2))
# ---- expect
# f(torch.ones(2, 3), torch.ones(3))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%y: tensor(Float, [int]) on cpu, requires no gradient
%2: tensor(Float, [int]) on cpu, requires no gradient
  %6: tensor(Float, [int, int]) on cpu, requires no gradient
  %7: tensor(Float, [int]) on cpu, requires no gradient
%8: tensor(Float, [int]) on cpu, requires no gradient
# f(torch.ones(2, 3), torch.ones(3, 2))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%y: tensor(Float, [int, int]) on cpu, requires no gradient
%2: tensor(Float, [int, int]) on cpu, requires no gradient
  %6: tensor(Float, [int, int]) on cpu, requires no gradient
  %7: tensor(Float, [int, int]) on cpu, requires no gradient
%8: tensor(Float, [int, int]) on cpu, requires no gradient
# f(torch.ones(3), torch.ones(3))
%x: tensor(Float, [int]) on cpu, requires no gradient
%y: tensor(Float, [int]) on cpu, requires no gradient
%2: tensor(Float, []) on cpu, requires no gradient
  %6: tensor(Float, [int]) on cpu, requires no gradient
  %7: tensor(Float, []) on cpu, requires no gradient
%8: tensor(Float, ?) on cpu, requires no gradient
# f(torch.ones(4, 2, 3), torch.ones(3, 2))
%x: tensor(Float, [int, int, int]) on cpu, requires no gradient
%y: tensor(Float, [int, int]) on cpu, requires no gradient
%2: tensor(Float, [int, int, int]) on cpu, requires no gradient
  %6: tensor(Float, [int, int, int]) on cpu, requires no gradient
  %7: tensor(Float, [int, int, int]) on cpu, requires no gradient
%8: tensor(Float, ?) on cpu, requires no gradient
