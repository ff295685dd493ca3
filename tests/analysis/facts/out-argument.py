# run: facts
def f(x, y):
  a = torch.zeros([2])
  torch.mul(x, y, out=a)
  return a + 1
# call: f(torch.ones(2), torch.ones(2))
# ---- expect
# f(torch.ones(2), torch.ones(2))
%x: tensor(Float, [int]) on cpu, requires no gradient
%y: tensor(Float, [int]) on cpu, requires no gradient
%a: tensor(Float, ?) on cpu
%9: tensor(?, ?)
%12: tensor(Float, ?) on cpu
