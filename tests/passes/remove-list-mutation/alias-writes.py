# run: compile, remove-list-mutation, dce
def f(n: int):
  l = [n]
  m = l
  m.append(2)
  return l[0], len(l), len(m)
# ---- expect
graph(%n : int):
  %9 : int = prim::Constant[value=2]()
  %10 : int = prim::Constant[value=2]()
  %8 : (int, int, int) = prim::TupleConstruct(%n, %9, %10)
  return (%8)
