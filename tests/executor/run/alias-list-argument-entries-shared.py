# run: run
def f(l: List[Tensor]):
  l[0].add_(1)
  y = l[1] * 2
  l[1] = y
  return l[0] + l[1]
# let: x = torch.zeros(2)
# call: f([x, x])
# call: f([x, x[:1]])
# ---- expect
f([x, x]) -> tensor([3.0, 3.0])
  l becomes [tensor([1.0, 1.0]), tensor([2.0, 2.0])]
  let x becomes tensor([1.0, 1.0])
f([x, x[:1]]) -> tensor([3.0, 3.0])
  l becomes [tensor([1.0, 1.0]), tensor([2.0])]
  let x becomes tensor([1.0, 1.0])
