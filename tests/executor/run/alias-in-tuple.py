# run: run
def f(t: Tuple[Tensor, Tensor]):
  a, b = t
  a.add_(1)
  return t[0] + b, b
# let: x = torch.zeros(2)
# call: f((x, x))
# call: f((x, torch.ones(2)))
# ---- expect
f((x, x)) -> (tensor([2.0, 2.0]), tensor([1.0, 1.0]))
  t becomes (tensor([1.0, 1.0]), tensor([1.0, 1.0]))
  let x becomes tensor([1.0, 1.0])
  result[1] is t[0]
f((x, torch.ones(2))) -> (tensor([2.0, 2.0]), tensor([1.0, 1.0]))
  t becomes (tensor([1.0, 1.0]), tensor([1.0, 1.0]))
  let x becomes tensor([1.0, 1.0])
  result[1] is t[1]
