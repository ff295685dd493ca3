# run: run
def f(x):
  t = x.t()
  t[0] = 5.0
  t2 = x.t()
  return t, t2 + 0, x.sum()
# call: f(torch.zeros(2, 3))
# ---- expect
f(torch.zeros(2, 3)) -> (tensor([[5.0, 5.0], [0.0, 0.0], [0.0, 0.0]]), tensor([[5.0, 5.0], [0.0, 0.0], [0.0, 0.0]]), tensor(10.0))
  x becomes tensor([[5.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
  result[0], strides (1, 3)
  result[0] shares memory with x
  result[1], strides (1, 3)
