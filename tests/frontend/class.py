# run: compile
class P:
  def __init__(self, x: int):
    self.x = x
  def __add__(self, other: int) -> int:
    return self.x + other
  def __getitem__(self, i: int) -> int:
    return self.x + i
  def __len__(self) -> int:
    return self.x
def f(n: int):
  p = P(n)
  p.x += 1
  return p + 1, p[2], len(p), p.x
# ---- expect
# f
graph(%n : int):
  %p : P = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%p, %n)
  %3 : int = prim::GetAttr[name="x"](%p)
  %4 : int = prim::Constant[value=1]()
  %5 : int = aten::add(%3, %4)
   = prim::SetAttr[name="x"](%p, %5)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::CallMethod[name="__add__"](%p, %6)
  %8 : int = prim::Constant[value=2]()
  %9 : int = prim::CallMethod[name="__getitem__"](%p, %8)
  %10 : int = prim::CallMethod[name="__len__"](%p)
  %11 : int = prim::GetAttr[name="x"](%p)
  %12 : (int, int, int, int) = prim::TupleConstruct(%7, %9, %10, %11)
  return (%12)
# P.__init__
graph(%self : P,
      %x : int):
   = prim::SetAttr[name="x"](%self, %x)
  %2 : NoneType = prim::Constant()
  return (%2)
# P.__add__
graph(%self : P,
      %other : int):
  %2 : int = prim::GetAttr[name="x"](%self)
  %3 : int = aten::add(%2, %other)
  return (%3)
# P.__getitem__
graph(%self : P,
      %i : int):
  %2 : int = prim::GetAttr[name="x"](%self)
  %3 : int = aten::add(%2, %i)
  return (%3)
# P.__len__
graph(%self : P):
  %1 : int = prim::GetAttr[name="x"](%self)
  return (%1)
