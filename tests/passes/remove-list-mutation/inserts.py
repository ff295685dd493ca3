# run: compile, remove-list-mutation, dce
# As Python clamps places that are not there.
def f(x: int, n: int):
    l = [x]
    l.insert(0, 2)
    l.insert(-10, 3)
    l.insert(-1, 4)
    l.insert(10, 5)
    m = [x]
    m.insert(n, 2)
    return l, m
# ---- expect
graph(%x : int,
      %n : int):
  %4 : int = prim::Constant[value=2]()
  %7 : int = prim::Constant[value=3]()
  %10 : int = prim::Constant[value=4]()
  %13 : int = prim::Constant[value=5]()
  %l : int[] = prim::ListConstruct(%7, %4, %10, %x, %13)
  %m : int[] = prim::ListConstruct(%x)
  %16 : int = prim::Constant[value=2]()
   = aten::insert(%m, %n, %16)
  %18 : (int[], int[]) = prim::TupleConstruct(%l, %m)
  return (%18)
