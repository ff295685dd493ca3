# run: run
def f(x):
  y = (x * x).sum()
  y.backward()
  y.backward()
  return x
# call: f(torch.ones(2).requires_grad_())
# ---- expect
f(torch.ones(2).requires_grad_()) raises RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.
