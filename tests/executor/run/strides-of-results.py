# run: run
# Results have the strides that the operators give, which follow those of the arguments.
def f(x):
  return x * 2, x + x.sum(0), x.clone(), x.relu(), x.to(torch.float64), torch.zeros_like(x)
# call: f(torch.ones(2, 3).t())
# call: f(torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last))
# ---- expect
f(torch.ones(2, 3).t()) -> (tensor([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]), tensor([[4.0, 4.0], [4.0, 4.0], [4.0, 4.0]]), tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], dtype=float64), tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
  result[0], strides (1, 3)
  result[1], strides (1, 3)
  result[2], strides (1, 3)
  result[3], strides (1, 3)
  result[4], strides (1, 3)
  result[5], strides (1, 3)
f(torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last)) -> (tensor([[[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]]), tensor([[[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]]), tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]], dtype=float64), tensor([[[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]]))
  result[0], strides (8, 1, 4, 2)
  result[1], strides (8, 1, 4, 2)
  result[2], strides (8, 1, 4, 2)
  result[3], strides (8, 1, 4, 2)
  result[4], strides (8, 1, 4, 2)
  result[5], strides (8, 1, 4, 2)
