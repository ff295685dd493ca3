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
# ---- expect
# work
%x: outside(Tensor)
%3: %3
# unknown
%x: outside(Tensor); written
%c: outside(C); written
%a: %a (escapes); written
%b: %b
%8: outside(Tensor); written
prim::CallMethod writes anything that escapes
%f: outside(Future[Tensor]); holds outside(Tensor); written
prim::fork writes anything that escapes
%r: outside(Tensor); written
aten::wait writes anything that escapes
%14: %14
# operators
%x: outside(Tensor)
%3: %3; holds outside(Tensor)
%a: outside(Tensor)
%b: outside(Tensor)
%6: %6; holds outside(Tensor)
%c: %c; written
%d: outside(Tensor)
%11: outside(Tensor)
%13: %13
%e: outside(Tensor)
%16: %c; written
aten::add writes %c
%17: %17; holds outside(Tensor)
# C.__init__
%self: outside(C); written
prim::SetAttr writes outside(C)
# C.touch
%self: outside(C)
%x: outside(Tensor)
