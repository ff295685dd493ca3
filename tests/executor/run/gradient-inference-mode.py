# run: run --inference
def f(x):
  y = (x * 2).sin() * x
  return y, y.requires_grad
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) -> (tensor([0.9093, 0.9093]), False)
