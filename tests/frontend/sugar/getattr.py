# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    return getattr(a, "x"), hasattr(a, "y"), getattr(a, "y", 3)
# ---- expect
# f
graph(%a : A):
  %1 : int = prim::GetAttr[name="x"](%a)
  %2 : bool = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=3]()
  %4 : (int, bool, int) = prim::TupleConstruct(%1, %2, %3)
  return (%4)
# A.__init__
graph(%self : A):
  %1 : int = prim::Constant[value=1]()
   = prim::SetAttr[name="x"](%self, %1)
  %2 : NoneType = prim::Constant()
  return (%2)
