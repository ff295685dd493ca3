# run: run
def f(x, i: int):
  a = x[0]
  b = x[i]
  return a + b
# call: f(torch.arange(3.), 2)
# call: f(torch.arange(3.), 3)
# call: f(torch.arange(3.), -4)
# ---- expect
f(torch.arange(3.), 2) -> tensor(2.0)
f(torch.arange(3.), 3) raises RuntimeError: select(): index 3 out of range for tensor of size [3] at dimension 0
f(torch.arange(3.), -4) raises RuntimeError: select(): index -4 out of range for tensor of size [3] at dimension 0
