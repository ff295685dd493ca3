# run: compile
def f(x: int):
  print("x", x)
# ---- expect
graph(%x : int):
  %1 : str = prim::Constant[value="x"]()
   = prim::Print(%1, %x)
  %3 : NoneType = prim::Constant()
  return (%3)
