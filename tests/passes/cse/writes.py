# run: compile, pool-constants, cse
# Between the two reads somebody writes; and a list that is changed is not shared, nor one that is asked for itself.
def f(x: List[int], n: int):
    a = x[0]
    x.append(n)
    b = x[0]
    c = [n, n]
    d = [n, n]
    d.append(a)
    e = [n]
    g = [n]
    return a + b, c, d, e is g
# ---- expect
graph(%x : int[],
      %n : int):
  %2 : int = prim::Constant[value=0]()
  %a : int = aten::__getitem__(%x, %2)
  %4 : int[] = aten::append(%x, %n)
  %b : int = aten::__getitem__(%x, %2)
  %c : int[] = prim::ListConstruct(%n, %n)
  %d : int[] = prim::ListConstruct(%n, %n)
  %9 : int[] = aten::append(%d, %a)
  %e : int[] = prim::ListConstruct(%n)
  %g : int[] = prim::ListConstruct(%n)
  %12 : int = aten::add(%a, %b)
  %13 : bool = aten::__is__(%e, %g)
  %14 : (int, int[], int[], bool) = prim::TupleConstruct(%12, %c, %d, %13)
  return (%14)
