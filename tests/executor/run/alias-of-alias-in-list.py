# run: run
def f(x):
  l = [x, x[0]]
  l[1].fill_(9.0)
  y = l[0] + 1
  l[0].zero_()
  return y, l
# call: f(torch.ones(2, 2))
# ---- expect
f(torch.ones(2, 2)) -> (tensor([[10.0, 10.0], [2.0, 2.0]]), [tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([0.0, 0.0])])
  x becomes tensor([[0.0, 0.0], [0.0, 0.0]])
  result[1][0] is x
  result[1][1] shares memory with x
