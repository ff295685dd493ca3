# run: compile, remove-list-mutation, dce
def g(l: List[int]):
  l.append(3)
def f(n: int):
  l = [n]
  a = l[0]
  g(l)
  return a, l[0], len(l)
# ---- expect
# g
graph(%l : int[]):
  %1 : int = prim::Constant[value=3]()
  %2 : int[] = aten::append(%l, %1)
  %3 : NoneType = prim::Constant()
  return (%3)
# f
graph(%n : int):
  %l : int[] = prim::ListConstruct(%n)
  %4 : Function = prim::Constant[name="g"]()
  %5 : NoneType = prim::CallFunction(%4, %l)
  %6 : int = prim::Constant[value=0]()
  %7 : int = aten::__getitem__(%l, %6)
  %8 : int = aten::len(%l)
  %9 : (int, int, int) = prim::TupleConstruct(%n, %7, %8)
  return (%9)
