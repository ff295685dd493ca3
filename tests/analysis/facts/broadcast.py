# run: facts
def f(x, y, z):
  return x + y, x * z, torch.where(x > y, x, z), x.expand(2, 2, 3), torch.maximum(y, z)
# call: f(torch.ones(2, 3), torch.ones(3), torch.tensor(1.0))
# ---- expect
# f(torch.ones(2, 3), torch.ones(3), torch.tensor(1.0))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%y: tensor(Float, [int]) on cpu, requires no gradient
%z: tensor(Float, []) on cpu, requires no gradient
%4: tensor(Float, [int, int]) on cpu, requires no gradient
%5: tensor(Float, [int, int]) on cpu, requires no gradient
%6: tensor(Bool, [int, int]) on cpu, requires no gradient
%7: tensor(Float, [int, int]) on cpu, requires no gradient
%13: tensor(Float, [int, int, int]) on cpu, requires no gradient
%14: tensor(Float, [int]) on cpu, requires no gradient
