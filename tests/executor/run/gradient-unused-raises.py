# run: run
def f(x, y):
  z = (x * 2).sum()
  return torch.autograd.grad([z], [y])
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# ---- expect
f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_()) raises RuntimeError: element 0of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.
f(torch.randn(2).requires_grad_(), torch.randn(2)) raises RuntimeError: element 0 of the input tensors does not require grad
