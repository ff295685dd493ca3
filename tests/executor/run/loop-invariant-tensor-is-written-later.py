# run: run
# What is the same in each iteration, but written to: each iteration needs its own.
def f(x, n: int):
  l: List[Tensor] = []
  for i in range(n):
    y = x * 2
    y.add_(i)
    l.append(y)
  return l
# call: f(torch.ones(1), 3)
# ---- expect
f(torch.ones(1), 3) -> [tensor([2.0]), tensor([3.0]), tensor([4.0])]
