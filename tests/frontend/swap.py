# run: compile
def f(a: int, b: int):
  a, b = b, a
  return a, b
# ---- expect
graph(%a.1 : int,
      %b.1 : int):
  %2 : (int, int) = prim::TupleConstruct(%b.1, %a.1)
  %a : int, %b : int = prim::TupleUnpack(%2)
  %5 : (int, int) = prim::TupleConstruct(%a, %b)
  return (%5)
