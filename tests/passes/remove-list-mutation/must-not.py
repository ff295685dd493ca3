# run: compile, remove-list-mutation
# An index beyond the end raises; a second name, a loop or a branch, or a list from outside may change it unseen.
def f(x: int, c: bool, given: List[int]):
    a = [x]
    a[1] = 2
    b = [x]
    m = [b]
    b.append(1)
    d = [x]
    if c:
        d.append(2)
    e = [x]
    for i in range(x):
        e.append(i)
        g = [i]
        g.append(x)
        e.extend(g)
    given.append(3)
    h = [x]
    h.extend(h)
    k = [x]
    k.extend(given)
    return a, m, d, e, len(d), b[0], given, h, k
# ---- expect
graph(%x : int,
      %c : bool,
      %given : int[]):
  %a : int[] = prim::ListConstruct(%x)
  %4 : int = prim::Constant[value=2]()
  %5 : int = prim::Constant[value=1]()
  %6 : int[] = aten::_set_item(%a, %5, %4)
  %b : int[] = prim::ListConstruct(%x)
  %m : int[][] = prim::ListConstruct(%b)
  %9 : int = prim::Constant[value=1]()
  %10 : int[] = aten::append(%b, %9)
  %d : int[] = prim::ListConstruct(%x)
   = prim::If(%c)
    block0():
      %12 : int = prim::Constant[value=2]()
      %13 : int[] = aten::append(%d, %12)
      -> ()
    block1():
      -> ()
  %e : int[] = prim::ListConstruct(%x)
  %15 : bool = prim::Constant[value=1]()
   = prim::Loop(%x, %15)
    block0(%i : int):
      %17 : int[] = aten::append(%e, %i)
      %g : int[] = prim::ListConstruct(%i, %x)
       = aten::extend(%e, %g)
      -> (%15)
  %21 : int = prim::Constant[value=3]()
  %22 : int[] = aten::append(%given, %21)
  %h : int[] = prim::ListConstruct(%x)
   = aten::extend(%h, %h)
  %k : int[] = prim::ListConstruct(%x)
   = aten::extend(%k, %given)
  %27 : int = aten::len(%d)
  %28 : int = prim::Constant[value=0]()
  %29 : int = aten::__getitem__(%b, %28)
  %30 : (int[], int[][], int[], int[], int, int, int[], int[], int[]) = prim::TupleConstruct(%a, %m, %d, %e, %27, %29, %given, %h, %k)
  return (%30)
