# run: run
def f(x):
  out: List[Tensor] = []
  while x.size(0) > 0:
    out.append(x[0] * 2)
    x = x[1:]
  return out
# call: f(torch.arange(3.))
# call: f(torch.zeros(0))
# ---- expect
f(torch.arange(3.)) -> [tensor(0.0), tensor(2.0), tensor(4.0)]
f(torch.zeros(0)) -> []
