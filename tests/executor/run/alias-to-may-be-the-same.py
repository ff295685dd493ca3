# run: run
def f(x, d: int):
  c = x.to(torch.float32)
  c.add_(d)
  return c, x
# call: f(torch.arange(3.), 1)
# call: f(torch.arange(3), 1)
# ---- expect
f(torch.arange(3.), 1) -> (tensor([1.0, 2.0, 3.0]), tensor([1.0, 2.0, 3.0]))
  x becomes tensor([1.0, 2.0, 3.0])
  result[0] is x
  result[1] is x
f(torch.arange(3), 1) -> (tensor([1.0, 2.0, 3.0]), tensor([0, 1, 2], dtype=int64))
  result[1] is x
