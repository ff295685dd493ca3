# run: facts
def f(x, n: int):
  return torch.zeros([n, 2]), torch.ones_like(x), torch.arange(n), torch.arange(1.0), torch.full([2], n), torch.tensor([1, 2]), torch.rand([n]), x.new_zeros([3]), torch.eye(n, dtype=torch.float64)
# call: f(torch.ones(2, dtype=torch.float16), 3)
# ---- expect
# f(torch.ones(2, dtype=torch.float16), 3)
%x: tensor(Half, [int]) on cpu, requires no gradient
%8: tensor(Float, [int, int]) on cpu, requires no gradient
%14: tensor(Half, [int]) on cpu, requires no gradient
%19: tensor(Long, [int]) on cpu, requires no gradient
%25: tensor(Float, [int]) on cpu, requires no gradient
%32: tensor(?, ?), requires no gradient
%39: tensor(?, ?), requires no gradient
%45: tensor(Float, [int]) on cpu, requires no gradient
%52: tensor(Half, [int]) on cpu, requires no gradient
%57: tensor(Double, [int, int]) on cpu, requires no gradient
