# run: run
def f(x, i: int):
  return x[..., i], x[None, 0], x[[0, 1]], x[x > 2], x[-1, ::2], x[1:][0], x[i, i:]
# call: f(torch.arange(6.).view(2, 3), 1)
# call: f(torch.arange(6.).view(2, 3), -1)
# ---- expect
f(torch.arange(6.).view(2, 3), 1) -> (tensor([1.0, 4.0]), tensor([[0.0, 1.0, 2.0]]), tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), tensor([3.0, 4.0, 5.0]), tensor([3.0, 5.0]), tensor([3.0, 4.0, 5.0]), tensor([4.0, 5.0]))
  result[0], strides (3)
  result[0] shares memory with x, from element 1
  result[1] shares memory with x
  result[4], strides (2)
  result[4] shares memory with x, from element 3
  result[5] shares memory with x, from element 3
  result[6] shares memory with x, from element 4
f(torch.arange(6.).view(2, 3), -1) -> (tensor([2.0, 5.0]), tensor([[0.0, 1.0, 2.0]]), tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), tensor([3.0, 4.0, 5.0]), tensor([3.0, 5.0]), tensor([3.0, 4.0, 5.0]), tensor([5.0]))
  result[0], strides (3)
  result[0] shares memory with x, from element 2
  result[1] shares memory with x
  result[4], strides (2)
  result[4] shares memory with x, from element 3
  result[5] shares memory with x, from element 3
  result[6] shares memory with x, from element 5
