# run: compile
def f(x: int):
  return 1 if x > 2 else None
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=2]()
  %2 : bool = aten::gt(%x, %1)
  %5 : int? = prim::If(%2)
    block0():
      %3 : int = prim::Constant[value=1]()
      -> (%3)
    block1():
      %4 : NoneType = prim::Constant()
      -> (%4)
  return (%5)
