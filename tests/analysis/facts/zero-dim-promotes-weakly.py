# run: facts
def f(x, s):
  return x * s, s * x, s + 1, s * 0.5
# call: f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
# call: f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
# ---- expect
# f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
%x: tensor(Half, [int]) on cpu, requires no gradient
%s: tensor(Double, []) on cpu, requires no gradient
%2: tensor(Half, [int]) on cpu, requires no gradient
%3: tensor(Half, [int]) on cpu, requires no gradient
%6: tensor(Double, []) on cpu, requires no gradient
%8: tensor(Double, []) on cpu, requires no gradient
# f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
%x: tensor(Long, [int]) on cpu, requires no gradient
%s: tensor(Double, []) on cpu, requires no gradient
%2: tensor(Double, [int]) on cpu, requires no gradient
%3: tensor(Double, [int]) on cpu, requires no gradient
%6: tensor(Double, []) on cpu, requires no gradient
%8: tensor(Double, []) on cpu, requires no gradient
