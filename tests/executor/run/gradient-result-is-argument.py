# run: run
def f(x):
  return x, x * 2, x.view(-1)
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> (tensor([1.541, -0.29343], requires_grad=True), tensor([3.082, -0.58686], requires_grad=True), tensor([1.541, -0.29343], requires_grad=True))
  result[0] is x
  result[2] shares memory with x
  gradient of x: tensor([4.0, 8.0])
