# run: compile, remove-list-mutation, constant-propagation, dce
def f(n: int):
  l = [n]
  a = len(l)
  l.append(n + 1)
  b = len(l)
  c = l[-1]
  return a, b, c, l
# ---- expect
graph(%n : int):
  %10 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=1]()
  %4 : int = aten::add(%n, %3)
  %l : int[] = prim::ListConstruct(%n, %4)
  %11 : int = prim::Constant[value=2]()
  %9 : (int, int, int, int[]) = prim::TupleConstruct(%10, %11, %4, %l)
  return (%9)
