# run: compile, remove-list-mutation, dce
def f(n: int, i: int):
  l = [n, n + 1, n + 2]
  l[-1] = 7
  a = l[-1]
  l[i] = 8
  return a, l[0]
# ---- expect
graph(%n : int,
      %i : int):
  %2 : int = prim::Constant[value=1]()
  %3 : int = aten::add(%n, %2)
  %7 : int = prim::Constant[value=7]()
  %l : int[] = prim::ListConstruct(%n, %3, %7)
  %12 : int = prim::Constant[value=8]()
  %13 : int[] = aten::_set_item(%l, %i, %12)
  %14 : int = prim::Constant[value=0]()
  %15 : int = aten::__getitem__(%l, %14)
  %16 : (int, int) = prim::TupleConstruct(%7, %15)
  return (%16)
