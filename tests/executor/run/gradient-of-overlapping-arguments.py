# run: run
def f(x, y):
  return (x * y).exp() * x
# let: w = torch.randn(3).requires_grad_()
# call: f(w[:2], w[1:])
# call: f(w, w.detach())
# ---- expect
f(w[:2], w[1:]) -> tensor([0.98045, -0.5561], requires_grad=True)
  gradient of let w: tensor([0.34855, 7.7245, 0.32635])
f(w, w.detach()) -> tensor([16.562, -0.31981, -251.11], requires_grad=True)
  gradient of x: tensor([36.269, 1.7756, 1324.7])
