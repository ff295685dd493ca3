# run: compile
# Each operand is evaluated once.
def g(x: int) -> int:
  return x
def f(x: int):
  return 1 < g(x) < 3, 0 <= x < 10 <= 20
# ---- expect
# g
graph(%x : int):
  return (%x)
# f
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : Function = prim::Constant[name="g"]()
  %3 : int = prim::CallFunction(%2, %x)
  %4 : bool = aten::lt(%1, %3)
  %5 : int = prim::Constant[value=3]()
  %8 : bool = prim::If(%4)
    block0():
      %6 : bool = aten::lt(%3, %5)
      -> (%6)
    block1():
      %7 : bool = prim::Constant[value=0]()
      -> (%7)
  %9 : int = prim::Constant[value=0]()
  %10 : bool = aten::le(%9, %x)
  %11 : int = prim::Constant[value=10]()
  %14 : bool = prim::If(%10)
    block0():
      %12 : bool = aten::lt(%x, %11)
      -> (%12)
    block1():
      %13 : bool = prim::Constant[value=0]()
      -> (%13)
  %15 : int = prim::Constant[value=20]()
  %18 : bool = prim::If(%14)
    block0():
      %16 : bool = aten::le(%11, %15)
      -> (%16)
    block1():
      %17 : bool = prim::Constant[value=0]()
      -> (%17)
  %19 : (bool, bool) = prim::TupleConstruct(%8, %18)
  return (%19)
