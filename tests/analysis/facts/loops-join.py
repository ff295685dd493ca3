# run: facts
# What is carried has the facts that hold before the first iteration and after each.
def f(x, n: int):
  a = x
  b = x
  c = x
  for i in range(n):
    a = a + 1
    b = b / 2
    c = c.unsqueeze(0)
  return a, b, c
# call: f(torch.arange(3), 2)
# ---- expect
# f(torch.arange(3), 2)
%x: tensor(Long, [int]) on cpu, requires no gradient
  %a.1: tensor(Long, [int]) on cpu, requires no gradient
  %b.1: tensor(?, [int]) on cpu, requires no gradient
  %c.1: tensor(Long, ?) on cpu, requires no gradient
  %a.2: tensor(Long, [int]) on cpu, requires no gradient
  %b.2: tensor(?, [int]) on cpu, requires no gradient
  %c.2: tensor(Long, ?) on cpu, requires no gradient
%a: tensor(Long, [int]) on cpu, requires no gradient
%b: tensor(?, [int]) on cpu, requires no gradient
%c: tensor(Long, ?) on cpu, requires no gradient
