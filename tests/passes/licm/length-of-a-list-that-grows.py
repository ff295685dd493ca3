# run: compile, pool-constants, licm
def f(l: List[int], m: List[int], n: int):
  t = 0
  for i in range(n):
    t = t + len(l) + len(m)
    l.append(i)
  return t
# ---- expect
graph(%l : int[],
      %m : int[],
      %n : int):
  %t.1 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %t : int = prim::Loop(%n, %4, %t.1)
    block0(%i : int, %t.2 : int):
      %7 : int = aten::len(%l)
      %8 : int = aten::add(%t.2, %7)
      %9 : int = aten::len(%m)
      %t.3 : int = aten::add(%8, %9)
      %11 : int[] = aten::append(%l, %i)
      -> (%4, %t.3)
  return (%t)
