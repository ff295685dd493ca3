# run: facts
def f(x):
  a, b = x.chunk(2)
  c = torch.split(x, 1)
  return torch.cat([a, b]), torch.stack([a, b]), c[0], x.unbind(0)[0]
# call: f(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%a: tensor(Float, [int, int]) on cpu, requires no gradient
%b: tensor(Float, [int, int]) on cpu, requires no gradient
%11: tensor(Float, [int, int]) on cpu, requires no gradient
%14: tensor(Float, [int, int, int]) on cpu, requires no gradient
%16: tensor(Float, [int, int]) on cpu, requires no gradient
%20: tensor(Float, [int]) on cpu, requires no gradient
