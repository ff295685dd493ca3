# run: run
def f(x):
  return x.dim(), x.sum(), x.unsqueeze(0), x.view(1, 1), x.expand(2)
# call: f(torch.tensor(3.0))
# ---- expect
f(torch.tensor(3.0)) -> (0, tensor(3.0), tensor([3.0]), tensor([[3.0]]), tensor([3.0, 3.0]))
  result[2] shares memory with x
  result[3] shares memory with x
  result[4], strides (0)
  result[4] shares memory with x
