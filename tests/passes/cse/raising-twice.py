# run: compile, pool-constants, cse
# What raises the first time never comes to the second.
def f(l: List[int], n: int):
  return l[n] + l[n], 10 // n + 10 // n
# ---- expect
graph(%l : int[],
      %n : int):
  %5 : int = prim::Constant[value=10]()
  %2 : int = aten::__getitem__(%l, %n)
  %4 : int = aten::add(%2, %2)
  %6 : int = aten::floordiv(%5, %n)
  %9 : int = aten::add(%6, %6)
  %10 : (int, int) = prim::TupleConstruct(%4, %9)
  return (%10)
