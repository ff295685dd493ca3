# run: run
def f(x, y: List[int]):
  a = x.reshape(x.shape[:-1] + [2, 4])
  s = a.shape[1:]
  b = (a * 2).reshape(s[-1:] + [-1]).relu()
  t = list(x.shape)
  t[0] = 1
  return b + 1, s, (x + 1).reshape(t + [1])
# call: f(torch.randn(3, 8), [1])
# call: f(torch.randn(0, 8), [1])
# call: f(torch.randn(1, 8).requires_grad_(), [1])
# call: f(torch.randn(2, 1, 8), [1])
# call: f(torch.randn(2, 3), [1])
# ---- expect
