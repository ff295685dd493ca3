# run: run
def f(x):
  return torch.sum(x, [0, 1]), torch.mean(x, [-1]), torch.sum(x, [1], keepdim=True) * x
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
f(torch.randn(2, 3).requires_grad_()) -> (tensor(-2.8459, requires_grad=True), tensor([-0.31041, -0.63823], requires_grad=True), tensor([[-1.435, 0.27325, 2.0289], [-1.0884, 2.0765, 2.6779]], requires_grad=True))
  gradient of x: tensor([[-1.4593, -1.6456, -1.8318], [-5.2367, -5.6196, -6.0025]])
