# run: compile
def f(x: int):
  while x > 3:
    x -= 1
  return x
# ---- expect
graph(%x.1 : int):
  %1 : int = prim::Constant[value=9223372036854775807]()
  %2 : int = prim::Constant[value=3]()
  %3 : bool = aten::gt(%x.1, %2)
  %x : int = prim::Loop(%1, %3, %x.1)
    block0(%4 : int, %x.2 : int):
      %6 : int = prim::Constant[value=1]()
      %x.3 : int = aten::sub(%x.2, %6)
      %8 : int = prim::Constant[value=3]()
      %9 : bool = aten::gt(%x.3, %8)
      -> (%9, %x.3)
  return (%x)
