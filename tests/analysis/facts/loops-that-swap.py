# run: facts
def f(x, y, n: int):
  for i in range(n):
    x, y = y, x
  return x, y
# call: f(torch.arange(3), torch.ones(3, 3), 2)
# ---- expect
# f(torch.arange(3), torch.ones(3, 3), 2)
%x.1: tensor(Long, [int]) on cpu, requires no gradient
%y.1: tensor(Float, [int, int]) on cpu, requires no gradient
  %x.2: tensor(?, ?)
  %y.2: tensor(?, ?)
  %x.3: tensor(?, ?)
  %y.3: tensor(?, ?)
%x: tensor(?, ?)
%y: tensor(?, ?)
