# run: compile
# The branch that raises has no say in the type of y, and the rest is not nested.
def f(x: int):
  if x > 1:
    y = 1
  else:
    raise ValueError("x is {}".format(x))
  return y + 1
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %1)
  %y : int = prim::If(%2)
    block0():
      %y.1 : int = prim::Constant[value=1]()
      -> (%y.1)
    block1():
      %4 : str = prim::Constant[value="x is {}"]()
      %5 : str = aten::format(%4, %x)
      %6 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%5, %6)
      %7 : int = prim::Uninitialized()
      -> (%7)
  %9 : int = prim::Constant[value=1]()
  %10 : int = aten::add(%y, %9)
  return (%10)
