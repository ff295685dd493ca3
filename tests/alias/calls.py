# run: alias
class C:
  def __init__(self):
    self.n = 0
  def touch(self, x: Tensor):
    return x

def work(x: Tensor):
  return x + 1

def unknown(x: Tensor, c: C):
  a = x + 1
  b = x + 2
  c.touch(a)
  f = torch.jit.fork(work, a)
  r = torch.jit.wait(f)
  return b.sum()

def operators(x: Tensor):
  a, b = x.split(2)
  c = torch.cat([a, b])
  d = x.contiguous()
  e = x.t().reshape(-1)
  torch.add(a, b, out=c)
  return d, e
