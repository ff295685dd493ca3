# run: compile, dce
def f(x, n: int):
  y = x * 2
  print("here")
  if n > 3:
    raise ValueError("too big")
  z = y + 1
  return x
# ---- expect
graph(%x : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %2)
  %4 : str = prim::Constant[value="here"]()
   = prim::Print(%4)
  %6 : int = prim::Constant[value=3]()
  %7 : bool = aten::gt(%n, %6)
   = prim::If(%7)
    block0():
      %8 : str = prim::Constant[value="too big"]()
      %9 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%8, %9)
      -> ()
    block1():
      -> ()
  %10 : int = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=1]()
  %z : Tensor = aten::add(%y, %10, %11)
  return (%x)
