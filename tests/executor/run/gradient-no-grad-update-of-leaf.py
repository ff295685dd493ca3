# run: run
def f(w):
  loss = (w * w).sum()
  with torch.no_grad():
    w.sub_(0.1)
  return loss.detach(), w * 2
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> (tensor(2.0), tensor([1.8, 1.8], requires_grad=True))
  w becomes tensor([0.9, 0.9], requires_grad=True)
  gradient of w: tensor([2.0, 4.0])
