# run: run
def f(x, y):
  return (x * y + x).tanh()
# let: w = torch.randn(2).requires_grad_()
# call: f(w, w)
# ---- expect
f(w, w) -> tensor([0.99921, -0.20441], requires_grad=True)
  gradient of x: tensor([0.0064786, 0.79176])
