# run: run
def f(x):
  out: List[Tensor] = []
  h = x
  for i in range(3):
    h = h * x + 1
    out.append(h)
  return torch.stack(out).sum(0) * out[0]
# call: f(torch.randn(2).requires_grad_())
# ---- expect
f(torch.randn(2).requires_grad_()) -> tensor([67.931, 2.7886], requires_grad=True)
  gradient of x: tensor([163.03, -0.87708])
