# run: compile
# The loop never falls through, so that its result is the function's.
def f(x: int) -> int:
  while True:
    if x > 3:
      return x
    x += 1
# ---- expect
graph(%x.1 : int):
  %1 : int = prim::Constant[value=9223372036854775807]()
  %3 : bool = prim::Constant[value=1]()
  %19 : int = prim::Uninitialized()
  %x : int, %23 : int = prim::Loop(%1, %3, %x.1, %19)
    block0(%4 : int, %x.2 : int, %21 : int):
      %6 : int = prim::Constant[value=3]()
      %7 : bool = aten::gt(%x.2, %6)
      %x.4 : int, %14 : bool, %16 : int = prim::If(%7)
        block0():
          %10 : int = prim::Uninitialized()
          %12 : bool = prim::Constant[value=0]()
          -> (%10, %12, %x.2)
        block1():
          %8 : int = prim::Constant[value=1]()
          %x.3 : int = aten::add(%x.2, %8)
          %13 : bool = prim::Constant[value=1]()
          %15 : int = prim::Uninitialized()
          -> (%x.3, %13, %15)
      -> (%14, %x.4, %16)
  return (%23)
