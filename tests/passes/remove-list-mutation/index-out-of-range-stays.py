# run: compile, remove-list-mutation, dce
def f(n: int):
  l = [n, n]
  l.append(3)
  a = l[2]
  return l[3] + a
# ---- expect
graph(%n : int):
  %2 : int = prim::Constant[value=3]()
  %l : int[] = prim::ListConstruct(%n, %n, %2)
  %6 : int = prim::Constant[value=3]()
  %7 : int = aten::__getitem__(%l, %6)
  %8 : int = aten::add(%7, %2)
  return (%8)
