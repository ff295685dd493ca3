# run: facts
def f(x):
  a = x.clone()
  b = a * 2
  a.unsqueeze_(0)
  return a + 1, b
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: tensor(Float, [int]) on cpu, requires no gradient
%a: tensor(Float, ?) on cpu
%b: tensor(Float, ?) on cpu
%6: tensor(Float, ?) on cpu
%9: tensor(Float, ?) on cpu
