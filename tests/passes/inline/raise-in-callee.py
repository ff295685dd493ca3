# run: compile, inline, dce
def g(n: int) -> int:
  if n > 0:
    raise ValueError("positive")
  return n
def f(n: int):
  k = g(n)
  return 1
# ---- expect
# g
graph(%n : int):
  %1 : int = prim::Constant[value=0]()
  %2 : bool = aten::gt(%n, %1)
   = prim::If(%2)
    block0():
      %3 : str = prim::Constant[value="positive"]()
      %4 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%3, %4)
      -> ()
    block1():
      -> ()
  return (%n)
# f
graph(%n : int):
  %4 : int = prim::Constant[value=0]()
  %5 : bool = aten::gt(%n, %4)
   = prim::If(%5)
    block0():
      %6 : str = prim::Constant[value="positive"]()
      %7 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%6, %7)
      -> ()
    block1():
      -> ()
  %3 : int = prim::Constant[value=1]()
  return (%3)
