# run: facts
def f(x, y):
  return x * y, y * y, x > y, (x * y).detach(), x.argmax(), y.clone().requires_grad_(), x.int()
# call: f(torch.ones(2).requires_grad_(), torch.ones(2))
# ---- expect
# f(torch.ones(2).requires_grad_(), torch.ones(2))
%x: tensor(Float, [int]) on cpu, requires a gradient
%y: tensor(Float, [int]) on cpu, requires no gradient
%2: tensor(Float, [int]) on cpu
%3: tensor(Float, [int]) on cpu, requires no gradient
%4: tensor(Bool, [int]) on cpu, requires no gradient
%5: tensor(Float, [int]) on cpu
%6: tensor(Float, [int]) on cpu, requires no gradient
%9: tensor(Long, []) on cpu, requires no gradient
%11: tensor(Float, [int]) on cpu
%13: tensor(Float, [int]) on cpu
%18: tensor(Int, [int]) on cpu, requires no gradient
