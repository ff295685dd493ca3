# run: run
def f(x):
  x.resize_([3, 2])
  return x.is_contiguous(), x.contiguous(), x.stride()
# call: f(torch.arange(6.).view(2, 3).t())
# ---- expect
f(torch.arange(6.).view(2, 3).t()) -> (False, tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]), [1, 3])
