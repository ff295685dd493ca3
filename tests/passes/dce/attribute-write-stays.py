# run: compile, inline, dce
class C:
  def __init__(self, n: int):
    self.n = n
def f(c: C):
  a = c.n
  c.n = 3
  d = C(5)
  d.n = 7
  return 0
# ---- expect
# f
graph(%c : C):
  %2 : int = prim::Constant[value=3]()
   = prim::SetAttr[name="n"](%c, %2)
  %7 : int = prim::Constant[value=0]()
  return (%7)
# C.__init__
graph(%self : C,
      %n : int):
   = prim::SetAttr[name="n"](%self, %n)
  %2 : NoneType = prim::Constant()
  return (%2)
