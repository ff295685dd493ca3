# run: compile
def f(x: int):
  if x == 1:
    raise ValueError
  if x == 2:
    raise RuntimeError("a", x)
  if x == 3:
    raise NotImplementedError(x)
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::eq(%x, %1)
   = prim::If(%2)
    block0():
      %3 : str = prim::Constant[value=""]()
      %4 : NoneType = prim::Constant()
       = prim::RaiseException(%3, %4)
      -> ()
    block1():
      -> ()
  %5 : int = prim::Constant[value=2]()
  %6 : bool = aten::eq(%x, %5)
   = prim::If(%6)
    block0():
      %7 : str = prim::Constant[value="a"]()
      %8 : (str, int) = prim::TupleConstruct(%7, %x)
      %9 : str = aten::str(%8)
      %10 : str = prim::Constant[value="builtins.RuntimeError"]()
       = prim::RaiseException(%9, %10)
      -> ()
    block1():
      -> ()
  %11 : int = prim::Constant[value=3]()
  %12 : bool = aten::eq(%x, %11)
   = prim::If(%12)
    block0():
      %13 : str = aten::str(%x)
      %14 : str = prim::Constant[value="builtins.NotImplementedError"]()
       = prim::RaiseException(%13, %14)
      -> ()
    block1():
      -> ()
  %15 : NoneType = prim::Constant()
  return (%15)
