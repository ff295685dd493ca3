# run: run
def f(x):
  c = x.contiguous()
  c.mul_(2)
  return c, x
# let: a = torch.arange(6.).view(2, 3)
# call: f(a)
# call: f(a.t())
# ---- expect
f(a) -> (tensor([[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]), tensor([[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]))
  x becomes tensor([[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]])
  result[0] is x
  result[1] is x
f(a.t()) -> (tensor([[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]), tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]))
  result[1], strides (1, 3)
  result[1] is x
