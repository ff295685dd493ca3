# run: facts
def f(x, c: bool):
  if c:
    a = x + 1
    b = x * 0.5
    d = x.sum()
  else:
    a = x
    b = x
    d = x
  return a, b, d
# call: f(torch.arange(3), True)
# ---- expect
# f(torch.arange(3), True)
%x: tensor(Long, [int]) on cpu, requires no gradient
  %a.1: tensor(Long, [int]) on cpu, requires no gradient
  %b.1: tensor(Float, [int]) on cpu, requires no gradient
  %d.1: tensor(Long, []) on cpu, requires no gradient
%a: tensor(Long, [int]) on cpu, requires no gradient
%b: tensor(?, [int]) on cpu, requires no gradient
%d: tensor(Long, ?) on cpu, requires no gradient
