# run: compile
def f(x: List[int]):
  a, b = x
  return a + b
# ---- expect
graph(%x : int[]):
  %a : int, %b : int = prim::ListUnpack(%x)
  %3 : int = aten::add(%a, %b)
  return (%3)
