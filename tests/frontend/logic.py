# run: compile
def f(a: bool, b: int, c: str):
  return a and b, a or not c, not (a and b) or a
# ---- expect
graph(%a : bool,
      %b : int,
      %c : str):
  %5 : bool = prim::If(%a)
    block0():
      %3 : bool = aten::Bool(%b)
      -> (%3)
    block1():
      %4 : bool = prim::Constant[value=0]()
      -> (%4)
  %11 : bool = prim::If(%a)
    block0():
      %6 : bool = prim::Constant[value=1]()
      -> (%6)
    block1():
      %7 : int = aten::len(%c)
      %8 : int = prim::Constant[value=0]()
      %9 : bool = aten::gt(%7, %8)
      %10 : bool = aten::__not__(%9)
      -> (%10)
  %14 : bool = prim::If(%a)
    block0():
      %12 : bool = aten::Bool(%b)
      -> (%12)
    block1():
      %13 : bool = prim::Constant[value=0]()
      -> (%13)
  %15 : bool = aten::__not__(%14)
  %17 : bool = prim::If(%15)
    block0():
      %16 : bool = prim::Constant[value=1]()
      -> (%16)
    block1():
      -> (%a)
  %18 : (bool, bool, bool) = prim::TupleConstruct(%5, %11, %17)
  return (%18)
