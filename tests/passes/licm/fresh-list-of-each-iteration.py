# run: compile, pool-constants, licm
# A list that each iteration keeps or changes is made anew.
def f(n: int):
  out: List[List[int]] = []
  t = 0
  for i in range(n):
    out.append([n, n])
    t = t + len([n, n])
  return out, t
# ---- expect
graph(%n : int):
  %3 : bool = prim::Constant[value=1]()
  %t.1 : int = prim::Constant[value=0]()
  %out : int[][] = prim::ListConstruct()
  %8 : int[] = prim::ListConstruct(%n, %n)
  %9 : int = aten::len(%8)
  %t : int = prim::Loop(%n, %3, %t.1)
    block0(%i : int, %t.2 : int):
      %6 : int[] = prim::ListConstruct(%n, %n)
      %7 : int[][] = aten::append(%out, %6)
      %t.3 : int = aten::add(%t.2, %9)
      -> (%3, %t.3)
  %12 : (int[][], int) = prim::TupleConstruct(%out, %t)
  return (%12)
