# run: compile, inline, licm
class C:
    def __init__(self, n: int):
        self.n = n
        self.m = n
    def f(self, k: int):
        for i in range(k):
            self.m += self.n
        return self.m
# ---- expect
# C.__init__
graph(%self : C,
      %n : int):
   = prim::SetAttr[name="n"](%self, %n)
   = prim::SetAttr[name="m"](%self, %n)
  %2 : NoneType = prim::Constant()
  return (%2)
# C.f
graph(%self : C,
      %k : int):
  %2 : bool = prim::Constant[value=1]()
  %5 : int = prim::GetAttr[name="n"](%self)
   = prim::Loop(%k, %2)
    block0(%i : int):
      %4 : int = prim::GetAttr[name="m"](%self)
      %6 : int = aten::add(%4, %5)
       = prim::SetAttr[name="m"](%self, %6)
      -> (%2)
  %7 : int = prim::GetAttr[name="m"](%self)
  return (%7)
