# run: compile
def f(x: int):
  while True:
    x += 1
    if x > 3:
      break
    x += 2
  return x
# ---- expect
graph(%x.1 : int):
  %1 : int = prim::Constant[value=9223372036854775807]()
  %3 : bool = prim::Constant[value=1]()
  %x : int = prim::Loop(%1, %3, %x.1)
    block0(%4 : int, %x.2 : int):
      %6 : int = prim::Constant[value=1]()
      %x.3 : int = aten::add(%x.2, %6)
      %8 : int = prim::Constant[value=3]()
      %9 : bool = aten::gt(%x.3, %8)
      %x.5 : int, %15 : bool = prim::If(%9)
        block0():
          %13 : bool = prim::Constant[value=0]()
          -> (%x.3, %13)
        block1():
          %10 : int = prim::Constant[value=2]()
          %x.4 : int = aten::add(%x.3, %10)
          %14 : bool = prim::Constant[value=1]()
          -> (%x.4, %14)
      -> (%15, %x.5)
  return (%x)
