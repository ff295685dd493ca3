# run: compile
class P:
  def __init__(self, x: int):
    self.x = x
def f(p: P):
  if hasattr(p, "y"):
    return p.y
  return getattr(p, "x") + getattr(p, "y", 3)
# ---- expect
# f
graph(%p : P):
  %1 : int = prim::GetAttr[name="x"](%p)
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::add(%1, %2)
  return (%3)
# P.__init__
graph(%self : P,
      %x : int):
   = prim::SetAttr[name="x"](%self, %x)
  %2 : NoneType = prim::Constant()
  return (%2)
