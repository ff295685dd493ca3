# run: run
def f(n: int):
  a = torch.rand([n])
  b = torch.randn([n])
  c = torch.randint(0, 10, [n])
  return c, b, a
# call: f(2)
# ---- expect
f(2) -> (tensor([1, 1], dtype=int64), tensor([0.11631, 0.7213]), tensor([0.75763, 0.27931]))
  draws random numbers
