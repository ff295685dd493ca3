# run: compile
def g(x: int, y: int = 2, *, z: int = 3):
  return x + y + z
def f(t: Tuple[int, int]):
  return g(1), g(1, z=4), g(*t), g(y=1, x=2)
# ---- expect
# g
graph(%x : int,
      %y : int,
      %z : int):
  %3 : int = aten::add(%x, %y)
  %4 : int = aten::add(%3, %z)
  return (%4)
# f
graph(%t : (int, int)):
  %1 : int = prim::Constant[value=1]()
  %2 : Function = prim::Constant[name="g"]()
  %3 : int = prim::Constant[value=2]()
  %4 : int = prim::Constant[value=3]()
  %5 : int = prim::CallFunction(%2, %1, %3, %4)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=4]()
  %8 : Function = prim::Constant[name="g"]()
  %9 : int = prim::Constant[value=2]()
  %10 : int = prim::CallFunction(%8, %6, %9, %7)
  %11 : int, %12 : int = prim::TupleUnpack(%t)
  %13 : Function = prim::Constant[name="g"]()
  %14 : int = prim::Constant[value=3]()
  %15 : int = prim::CallFunction(%13, %11, %12, %14)
  %16 : int = prim::Constant[value=1]()
  %17 : int = prim::Constant[value=2]()
  %18 : Function = prim::Constant[name="g"]()
  %19 : int = prim::Constant[value=3]()
  %20 : int = prim::CallFunction(%18, %17, %16, %19)
  %21 : (int, int, int, int) = prim::TupleConstruct(%5, %10, %15, %20)
  return (%21)
