# run: compile, constant-propagation
# Each call makes its own list.
def f():
    a = [1, 2]
    return a, len(a)
# ---- expect
graph():
  %0 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %a : int[] = prim::ListConstruct(%0, %1)
  %3 : int = aten::len(%a)
  %4 : (int[], int) = prim::TupleConstruct(%a, %3)
  return (%4)
