# run: compile
def f(xs: List[int]):
  return [x * 2 for x in xs if x > 1]
# ---- expect
graph(%xs : int[]):
  %1 : int[] = prim::ListConstruct()
  %2 : int = aten::len(%xs)
  %3 : bool = prim::Constant[value=1]()
   = prim::Loop(%2, %3)
    block0(%4 : int):
      %x : int = aten::__getitem__(%xs, %4)
      %6 : int = prim::Constant[value=1]()
      %7 : bool = aten::gt(%x, %6)
       = prim::If(%7)
        block0():
          %8 : int = prim::Constant[value=2]()
          %9 : int = aten::mul(%x, %8)
          %10 : int[] = aten::append(%1, %9)
          -> ()
        block1():
          -> ()
      -> (%3)
  return (%1)
