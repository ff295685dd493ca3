# run: facts
def f(x, y):
  return x + y, x.sum(), x.to(torch.float32) + y, ~x, x.cumsum(0)
# call: f(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8))
# call: f(torch.tensor([True]), torch.ones(2, dtype=torch.int16))
# ---- expect
# f(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8))
%x: tensor(Byte, [int]) on cpu, requires no gradient
%y: tensor(Char, [int]) on cpu, requires no gradient
%3: tensor(Short, [int]) on cpu, requires no gradient
%5: tensor(Long, []) on cpu, requires no gradient
%10: tensor(Float, [int]) on cpu, requires no gradient
%12: tensor(Float, [int]) on cpu, requires no gradient
%13: tensor(Byte, [int]) on cpu, requires no gradient
%16: tensor(Long, [int]) on cpu, requires no gradient
# f(torch.tensor([True]), torch.ones(2, dtype=torch.int16))
%x: tensor(Bool, [int]) on cpu, requires no gradient
%y: tensor(Short, [int]) on cpu, requires no gradient
%3: tensor(Short, [int]) on cpu, requires no gradient
%5: tensor(Long, []) on cpu, requires no gradient
%10: tensor(Float, [int]) on cpu, requires no gradient
%12: tensor(Float, [int]) on cpu, requires no gradient
%13: tensor(Bool, [int]) on cpu, requires no gradient
%16: tensor(Long, [int]) on cpu, requires no gradient
