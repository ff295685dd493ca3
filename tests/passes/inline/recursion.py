# run: compile, inline
# A call that leads back to what is being inlined stays.
def g(n: int) -> int:
    if n == 0:
        return 0
    return g(n - 1)
def f(n: int):
    return g(n) + 1
# ---- expect
# g
graph(%n : int):
  %1 : int = prim::Constant[value=0]()
  %2 : bool = aten::eq(%n, %1)
  %8 : int = prim::If(%2)
    block0():
      %3 : int = prim::Constant[value=0]()
      -> (%3)
    block1():
      %4 : int = prim::Constant[value=1]()
      %5 : int = aten::sub(%n, %4)
      %9 : int = prim::Constant[value=0]()
      %10 : bool = aten::eq(%5, %9)
      %11 : int = prim::If(%10)
        block0():
          %12 : int = prim::Constant[value=0]()
          -> (%12)
        block1():
          %13 : int = prim::Constant[value=1]()
          %14 : int = aten::sub(%5, %13)
          %15 : Function = prim::Constant[name="g"]()
          %16 : int = prim::Constant[value=0]()
          %17 : bool = aten::eq(%14, %16)
          %18 : int = prim::CallFunction(%15, %14)
          -> (%18)
      -> (%11)
  return (%8)
# f
graph(%n : int):
  %5 : int = prim::Constant[value=0]()
  %6 : bool = aten::eq(%n, %5)
  %7 : int = prim::If(%6)
    block0():
      %8 : int = prim::Constant[value=0]()
      -> (%8)
    block1():
      %9 : int = prim::Constant[value=1]()
      %10 : int = aten::sub(%n, %9)
      %11 : int = prim::Constant[value=0]()
      %12 : bool = aten::eq(%10, %11)
      %13 : int = prim::If(%12)
        block0():
          %14 : int = prim::Constant[value=0]()
          -> (%14)
        block1():
          %15 : int = prim::Constant[value=1]()
          %16 : int = aten::sub(%10, %15)
          %17 : Function = prim::Constant[name="g"]()
          %18 : int = prim::Constant[value=0]()
          %19 : bool = aten::eq(%16, %18)
          %20 : int = prim::CallFunction(%17, %16)
          -> (%20)
      -> (%13)
  %3 : int = prim::Constant[value=1]()
  %4 : int = aten::add(%7, %3)
  return (%4)
