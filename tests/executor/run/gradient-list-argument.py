# run: run
def f(l: List[Tensor]):
  s = l[0] * 1
  for x in l:
    s = s * x
  return s
# call: f([torch.randn(2).requires_grad_(), torch.randn(2), torch.randn(2).requires_grad_()])
# ---- expect
f([torch.randn(2).requires_grad_(), torch.randn(2), torch.randn(2).requires_grad_()]) -> tensor([5.6112, -0.06845], requires_grad=True)
  gradient of l[0]: tensor([7.2826, 0.93311])
  gradient of l[2]: tensor([-5.1739, 0.097884])
