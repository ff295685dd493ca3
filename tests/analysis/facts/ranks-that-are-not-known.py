# run: facts
# A size of one decides.
def f(x, s: List[int]):
  return x.squeeze(), x.squeeze(1), x.view(s), x.reshape(s), torch.zeros(s), x.nonzero()
# call: f(torch.ones(2, 3), [6])
# ---- expect
# f(torch.ones(2, 3), [6])
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%2: tensor(Float, ?) on cpu, requires no gradient
%4: tensor(Float, ?) on cpu, requires no gradient
%5: tensor(Float, ?) on cpu, requires no gradient
%6: tensor(Float, ?) on cpu, requires no gradient
%11: tensor(Float, ?) on cpu, requires no gradient
%12: tensor(Long, [int, int]) on cpu, requires no gradient
