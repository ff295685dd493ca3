# run: facts
def f(x):
  return x.sum(), x.sum(0), x.sum([0, 1]), x.mean(1, keepdim=True), x.max(0)[0], x.max(0)[1], x.argmax(), x.any(), x.norm(), x.var(0)
# call: f(torch.ones(2, 3))
# ---- expect
# f(torch.ones(2, 3))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%2: tensor(Float, []) on cpu, requires no gradient
%7: tensor(Float, [int]) on cpu, requires no gradient
%13: tensor(Float, []) on cpu, requires no gradient
%18: tensor(Float, [int, int]) on cpu, requires no gradient
%21: tensor(Float, [int]) on cpu, requires no gradient
%22: tensor(Long, [int]) on cpu, requires no gradient
%25: tensor(?, ?)
%28: tensor(Float, [int]) on cpu, requires no gradient
%29: tensor(Long, [int]) on cpu, requires no gradient
%32: tensor(?, ?)
%35: tensor(Long, []) on cpu, requires no gradient
%36: tensor(Bool, []) on cpu, requires no gradient
%38: tensor(Float, []) on cpu, requires no gradient
%43: tensor(Float, [int]) on cpu, requires no gradient
