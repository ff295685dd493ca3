# run: compile, pool-constants, cse
# The second iteration reads what the first one wrote.
def f(l: List[int], n: int):
  a = len(l)
  t = 0
  for i in range(n):
    t = t + len(l)
    l.append(i)
  return a, t
# ---- expect
graph(%l : int[],
      %n : int):
  %4 : bool = prim::Constant[value=1]()
  %t.1 : int = prim::Constant[value=0]()
  %a : int = aten::len(%l)
  %t : int = prim::Loop(%n, %4, %t.1)
    block0(%i : int, %t.2 : int):
      %7 : int = aten::len(%l)
      %t.3 : int = aten::add(%t.2, %7)
      %9 : int[] = aten::append(%l, %i)
      -> (%4, %t.3)
  %11 : (int, int) = prim::TupleConstruct(%a, %t)
  return (%11)
