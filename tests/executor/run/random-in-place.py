# run: run
def f(x):
  y = x.clone()
  y.uniform_(0., 1.)
  x.normal_()
  return y + x
# call: f(torch.zeros(2))
# ---- expect
f(torch.zeros(2)) -> tensor([0.87395, 1.0006])
  x becomes tensor([0.11631, 0.7213])
  draws random numbers
