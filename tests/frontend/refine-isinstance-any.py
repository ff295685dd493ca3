# run: compile
def f(x: Any):
  if isinstance(x, (int, str)):
    return 1
  return 0
# ---- expect
graph(%x.1 : Any):
  %1 : bool = prim::isinstance[types=[int, str]](%x.1)
  %5 : int = prim::If(%1)
    block0():
      %3 : int = prim::Constant[value=1]()
      -> (%3)
    block1():
      %4 : int = prim::Constant[value=0]()
      -> (%4)
  return (%5)
