# run: alias, inline
class Pair:
  def __init__(self, a: Tensor, b: Tensor):
    self.a = a
    self.b = b

def fresh_object(x: Tensor):
  a = x + 1
  b = x + 2
  p = Pair(a, b)
  p.a.add_(1)
  return p.b.sum()

def given_object(p: Pair, x: Tensor):
  y = x + 1
  p.a = y
  z = p.b
  z.mul_(2)
  return y.sum()
# ---- expect
# fresh_object
%x: outside(Tensor)
%a: %a; written
%b: %b
%p: %p; holds %a, %b; written
prim::SetAttr writes %p
prim::SetAttr writes %p
%9: %a; written
%12: %a; written
aten::add_ writes %a
%13: %b
%15: %15
# given_object
%p: outside(Pair); holds %y (escapes), outside(Tensor); written
%x: outside(Tensor); written
%y: %y (escapes); written
prim::SetAttr writes outside(Pair)
%z: outside(Tensor); written
%7: outside(Tensor); written
aten::mul_ writes outside(Tensor)
%9: %9
# Pair.__init__
%self: outside(Pair); holds outside(Tensor); written
%a: outside(Tensor)
%b: outside(Tensor)
prim::SetAttr writes outside(Pair)
prim::SetAttr writes outside(Pair)
