# run: compile, pool-constants, cse
def f(l: List[int], c: bool):
  a = len(l)
  if c:
    l.append(1)
  b = len(l)
  return a, b
# ---- expect
graph(%l : int[],
      %c : bool):
  %3 : int = prim::Constant[value=1]()
  %a : int = aten::len(%l)
   = prim::If(%c)
    block0():
      %4 : int[] = aten::append(%l, %3)
      -> ()
    block1():
      -> ()
  %b : int = aten::len(%l)
  %6 : (int, int) = prim::TupleConstruct(%a, %b)
  return (%6)
