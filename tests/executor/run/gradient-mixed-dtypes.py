# run: run
# The gradient has the dtype of what it is of, whatever the product is promoted to.
def f(x, y):
  return (x * y + y) * x
# call: f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.arange(2))
# call: f(torch.randn(2, dtype=torch.bfloat16).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_()) -> tensor([-8.5314, -0.11785], dtype=float64, requires_grad=True)
  gradient of x: tensor([-8.8938, 0.46969])
  gradient of y: tensor([3.9157, -0.41466], dtype=float64)
f(torch.randn(2).requires_grad_(), torch.arange(2)) -> tensor([0.0, -0.20733], requires_grad=True)
  gradient of x: tensor([0.0, 0.82628])
f(torch.randn(2, dtype=torch.bfloat16).requires_grad_(), torch.randn(2).requires_grad_()) -> tensor([-8.5142, -0.11774], requires_grad=True)
  gradient of x: tensor([-8.875, 0.4707], dtype=bfloat16)
  gradient of y: tensor([3.9078, -0.41428])
