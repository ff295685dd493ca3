# run: run
def f(x):
  return (x * x + 1).sqrt() / x
# call: f(torch.ones(2, dtype=torch.float64).requires_grad_())
# call: f(torch.ones(2, dtype=torch.float16).requires_grad_())
# call: f(torch.ones(2, dtype=torch.bfloat16).requires_grad_())
# ---- expect
f(torch.ones(2, dtype=torch.float64).requires_grad_()) -> tensor([1.4142, 1.4142], dtype=float64, requires_grad=True)
  gradient of x: tensor([-0.70711, -1.4142], dtype=float64)
f(torch.ones(2, dtype=torch.float16).requires_grad_()) -> tensor([1.4141, 1.4141], dtype=float16, requires_grad=True)
  gradient of x: tensor([-0.70703, -1.4141], dtype=float16)
f(torch.ones(2, dtype=torch.bfloat16).requires_grad_()) -> tensor([1.4141, 1.4141], dtype=bfloat16, requires_grad=True)
  gradient of x: tensor([-0.71094, -1.4219], dtype=bfloat16)
