# run: facts
def f(x, s):
  return x * s, s * x, s + 1, s * 0.5
# call: f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
# call: f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
# ---- expect
# f(torch.ones(2, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
%x: Half(%x.size(0)) on cpu, requires no gradient
%s: Double() on cpu, requires no gradient
%2: Half(%x.size(0)) on cpu, requires no gradient
%3: Half(%x.size(0)) on cpu, requires no gradient
%6: Double() on cpu, requires no gradient
%8: Double() on cpu, requires no gradient
# f(torch.arange(2), torch.tensor(1.0, dtype=torch.float64))
%x: Long(%x.size(0)) on cpu, requires no gradient
%s: Double() on cpu, requires no gradient
%2: Double(%x.size(0)) on cpu, requires no gradient
%3: Double(%x.size(0)) on cpu, requires no gradient
%6: Double() on cpu, requires no gradient
%8: Double() on cpu, requires no gradient
