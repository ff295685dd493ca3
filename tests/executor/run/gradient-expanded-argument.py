# run: run
def f(x):
  return x.expand(3, 2).contiguous() * x + x.repeat(3, 1)
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([[3.9157, -0.20733], [3.9157, -0.20733], [3.9157, -0.20733]], requires_grad=True)
  gradient of x: tensor([17.144, 1.9831])
