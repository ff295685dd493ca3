# run: plan
# Parts of the sizes of a tensor whose rank is known are lists of known length: the rank of what is reshaped by them, too.
def f(x, y: List[int]):
  a = x.reshape(x.shape[:-1] + [2, 4])
  s = a.shape[1:]
  b = (a * 2).reshape(s[-1:] + [-1]).relu()
  t = list(x.shape)
  t[0] = 1
  return b + 1, s, (x + 1).reshape(t + [1])
# call: f(torch.ones(3, 8), [1])
# ---- expect
