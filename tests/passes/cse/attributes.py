# run: compile, cse
class C:
    def __init__(self, n: int):
        self.n = n
        self.m = n
    def f(self):
        a = self.n + self.m
        self.m = a
        return a + self.n + self.m
# ---- expect
# C.__init__
graph(%self : C,
      %n : int):
   = prim::SetAttr[name="n"](%self, %n)
   = prim::SetAttr[name="m"](%self, %n)
  %2 : NoneType = prim::Constant()
  return (%2)
# C.f
graph(%self : C):
  %1 : int = prim::GetAttr[name="n"](%self)
  %2 : int = prim::GetAttr[name="m"](%self)
  %a : int = aten::add(%1, %2)
   = prim::SetAttr[name="m"](%self, %a)
  %5 : int = aten::add(%a, %1)
  %6 : int = prim::GetAttr[name="m"](%self)
  %7 : int = aten::add(%5, %6)
  return (%7)
