# run: compile
# A return leaves two loops.
def f(n: int) -> int:
  for i in range(n):
    for j in range(n):
      if i * j > 10:
        return i
  return -1
# ---- expect
graph(%n : int):
  %1 : bool = prim::Constant[value=1]()
  %19 : bool = prim::Constant[value=1]()
  %20 : int = prim::Uninitialized()
  %23 : bool, %24 : int = prim::Loop(%n, %1, %19, %20)
    block0(%i : int, %21 : bool, %22 : int):
      %3 : bool = prim::Constant[value=1]()
      %13 : bool = prim::Constant[value=1]()
      %14 : int = prim::Uninitialized()
      %17 : bool, %18 : int = prim::Loop(%n, %3, %13, %14)
        block0(%j : int, %15 : bool, %16 : int):
          %5 : int = aten::mul(%i, %j)
          %6 : int = prim::Constant[value=10]()
          %7 : bool = aten::gt(%5, %6)
          %10 : bool, %12 : int = prim::If(%7)
            block0():
              %8 : bool = prim::Constant[value=0]()
              -> (%8, %i)
            block1():
              %9 : bool = prim::Constant[value=1]()
              %11 : int = prim::Uninitialized()
              -> (%9, %11)
          -> (%10, %10, %12)
      -> (%17, %17, %18)
  %26 : int = prim::If(%23)
    block0():
      %25 : int = prim::Constant[value=-1]()
      -> (%25)
    block1():
      -> (%24)
  return (%26)
