# run: run
def f(x):
  return x.sum(0), x.mean(1, keepdim=True), x.var(0), x.std(), (x * x).prod(), x.norm()
# call: f(torch.randn(3, 2).requires_grad_())
# ---- expect
f(torch.randn(3, 2).requires_grad_()) -> (tensor([-1.7223, -1.1236], requires_grad=True), tensor([[0.62378], [-0.80518], [-1.2416]], requires_grad=True), tensor([3.6546, 0.97223], requires_grad=True), tensor(1.3648, requires_grad=True), tensor(0.72153, requires_grad=True), tensor(3.2655, requires_grad=True))
  gradient of x: tensor([[5.3188, -2.3191], [-1.434, 7.5015], [-0.26256, -0.64367]])
