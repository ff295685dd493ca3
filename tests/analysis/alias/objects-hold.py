# run: alias, inline
class C:
  def __init__(self, w: Tensor):
    self.w = w
def f(x):
  a = x * 2
  c = C(a)
  c.w.add_(1)
  c.w = x
  return a
# ---- expect
# f
%x: outside(Tensor); written
%a: %a; written
%c: %c; holds %a, outside(Tensor); written
prim::SetAttr writes %c
%5: %a, outside(Tensor); written
%8: %a, outside(Tensor); written
aten::add_ writes %a, outside(Tensor)
prim::SetAttr writes %c
# C.__init__
%self: outside(C); holds outside(Tensor); written
%w: outside(Tensor)
prim::SetAttr writes outside(C)
