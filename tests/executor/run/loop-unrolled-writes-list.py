# run: run
def f(x):
  l: List[Tensor] = []
  for i in range(3):
    l.append(x[i])
    l[0].add_(1)
  return torch.stack(l), x
# call: f(torch.zeros(3, 2))
# ---- expect
f(torch.zeros(3, 2)) -> (tensor([[3.0, 3.0], [0.0, 0.0], [0.0, 0.0]]), tensor([[3.0, 3.0], [0.0, 0.0], [0.0, 0.0]]))
  x becomes tensor([[3.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
  result[1] is x
