# run: gradient
def f(x):
  return x * x + x
# call: f(torch.view_as_complex(torch.ones(2, 2)).requires_grad_())
# ---- expect
# f(torch.view_as_complex(torch.ones(2, 2)).requires_grad_())
no differentiable region
