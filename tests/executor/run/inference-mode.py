# run: run --inference
def f(x):
  y = x * 2
  y.add_(1)
  return y, y.requires_grad, x.t()
# call: f(torch.ones(2, 2))
# ---- expect
f(torch.ones(2, 2)) -> (tensor([[3.0, 3.0], [3.0, 3.0]]), False, tensor([[1.0, 1.0], [1.0, 1.0]]))
  result[2], strides (1, 2)
  result[2] shares memory with x
