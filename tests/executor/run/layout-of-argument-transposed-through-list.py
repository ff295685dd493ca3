# run: run
def f(x):
  l = [x]
  a = x.is_contiguous()
  l[0].t_()
  return a, x.is_contiguous(), x.size(0)
# call: f(torch.arange(6.).view(2, 3))
# ---- expect
f(torch.arange(6.).view(2, 3)) -> (True, False, 3)
  x becomes tensor([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]])
