# run: compile, constant-propagation, dce
# What raises is not computed before it is reached, nor dropped.
def f(c: bool):
  if c:
    a = 1 // 0
    b = int("x")
    d = "abc"[7]
  return 1 % 2
# ---- expect
graph(%c : bool):
   = prim::If(%c)
    block0():
      %1 : int = prim::Constant[value=1]()
      %2 : int = prim::Constant[value=0]()
      %a : int = aten::floordiv(%1, %2)
      %4 : str = prim::Constant[value="x"]()
      %b : int = aten::Int(%4)
      %6 : str = prim::Constant[value="abc"]()
      %7 : int = prim::Constant[value=7]()
      %d : str = aten::__getitem__(%6, %7)
      -> ()
    block1():
      -> ()
  %12 : int = prim::Constant[value=1]()
  return (%12)
