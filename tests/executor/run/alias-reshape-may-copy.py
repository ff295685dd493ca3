# run: run
# Of a contiguous tensor reshape is a view, of a transposed one a copy: the write shows or not.
def f(x):
  r = x.reshape(-1)
  r.add_(1)
  return r, x
# let: a = torch.arange(6.).view(2, 3)
# call: f(a)
# call: f(a.t())
# ---- expect
f(a) -> (tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
  x becomes tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
  result[0] shares memory with x
  result[1] is x
f(a.t()) -> (tensor([1.0, 4.0, 2.0, 5.0, 3.0, 6.0]), tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]))
  result[1], strides (1, 3)
  result[1] is x
