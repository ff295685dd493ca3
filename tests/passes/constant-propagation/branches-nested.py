# run: compile, constant-propagation, simplify-branches, dce
def f(n: int):
  if 1 < 2:
    if n > 3:
      n = n + 1
    else:
      n = 2 - 2
  else:
    n = 5
  return n
# ---- expect
graph(%n.1 : int):
  %4 : int = prim::Constant[value=3]()
  %5 : bool = aten::gt(%n.1, %4)
  %n.4 : int = prim::If(%5)
    block0():
      %6 : int = prim::Constant[value=1]()
      %n.2 : int = aten::add(%n.1, %6)
      -> (%n.2)
    block1():
      %n.3 : int = prim::Constant[value=0]()
      -> (%n.3)
  return (%n.4)
