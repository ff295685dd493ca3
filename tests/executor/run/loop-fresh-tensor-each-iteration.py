# run: run
def f(x, n: int):
  l: List[Tensor] = []
  for i in range(n):
    l.append(x + 1)
  return l[0] is l[1], l
# call: f(torch.ones(1), 2)
# ---- expect
f(torch.ones(1), 2) -> (False, [tensor([2.0]), tensor([2.0])])
