# run: compile, inline
class C:
  def __init__(self, n: int):
    self.n = n
  def get(self) -> int:
    return self.n
  def twice(self) -> int:
    return self.get() + self.get()
def f(c: C):
  return c.twice()
# ---- expect
# f
graph(%c : C):
  %5 : int = prim::GetAttr[name="n"](%c)
  %6 : int = prim::GetAttr[name="n"](%c)
  %4 : int = aten::add(%5, %6)
  return (%4)
# C.__init__
graph(%self : C,
      %n : int):
   = prim::SetAttr[name="n"](%self, %n)
  %2 : NoneType = prim::Constant()
  return (%2)
# C.get
graph(%self : C):
  %1 : int = prim::GetAttr[name="n"](%self)
  return (%1)
# C.twice
graph(%self : C):
  %4 : int = prim::GetAttr[name="n"](%self)
  %5 : int = prim::GetAttr[name="n"](%self)
  %3 : int = aten::add(%4, %5)
  return (%3)
