# run: compile
def g(x: int, y: int = 2) -> int:
    return x + y

def f():
    h = g
    return g(1), g(x=1, y=3), h(4)
# ---- expect
# g
graph(%x : int,
      %y : int):
  %2 : int = aten::add(%x, %y)
  return (%2)
# f
graph():
  %0 : int = prim::Constant[value=1]()
  %1 : Function = prim::Constant[name="g"]()
  %2 : int = prim::Constant[value=2]()
  %3 : int = prim::CallFunction(%1, %0, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=3]()
  %6 : Function = prim::Constant[name="g"]()
  %7 : int = prim::CallFunction(%6, %4, %5)
  %8 : int = prim::Constant[value=4]()
  %9 : Function = prim::Constant[name="g"]()
  %10 : int = prim::Constant[value=2]()
  %11 : int = prim::CallFunction(%9, %8, %10)
  %12 : (int, int, int) = prim::TupleConstruct(%3, %7, %11)
  return (%12)
