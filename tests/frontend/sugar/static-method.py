# run: compile
class A:
    def __init__(self):
        self.x = 1
    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

def f(a: A):
    return A.twice(1), a.twice(2)
# ---- expect
# f
graph(%a : A):
  %1 : int = prim::Constant[value=1]()
  %2 : Function = prim::Constant[name="twice"]()
  %3 : int = prim::CallFunction(%2, %1)
  %4 : int = prim::Constant[value=2]()
  %5 : Function = prim::Constant[name="twice"]()
  %6 : int = prim::CallFunction(%5, %4)
  %7 : (int, int) = prim::TupleConstruct(%3, %6)
  return (%7)
# A.__init__
graph(%self : A):
  %1 : int = prim::Constant[value=1]()
   = prim::SetAttr[name="x"](%self, %1)
  %2 : NoneType = prim::Constant()
  return (%2)
# A.twice
graph(%x : int):
  %1 : int = prim::Constant[value=2]()
  %2 : int = aten::mul(%1, %x)
  return (%2)
