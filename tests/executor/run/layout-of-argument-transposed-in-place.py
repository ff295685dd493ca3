# run: run
def f(x):
  a = x.is_contiguous()
  x.t_()
  return a, x.is_contiguous(), x.contiguous()
# call: f(torch.arange(6.).view(2, 3))
# call: f(torch.arange(6.).view(2, 3).t())
# ---- expect
f(torch.arange(6.).view(2, 3)) -> (True, False, tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]))
  x becomes tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])
f(torch.arange(6.).view(2, 3).t()) -> (False, True, tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]))
  x becomes tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
  result[2] is x
