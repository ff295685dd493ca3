# run: compile
def f():
  return 1, -1, 1.5, -0.25, 3j, 0x1f, 1_000, -9223372036854775808
# ---- expect
graph():
  %0 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=-1]()
  %2 : float = prim::Constant[value=1.5]()
  %3 : float = prim::Constant[value=-0.25]()
  %4 : complex = prim::Constant[value=0.+3.j]()
  %5 : int = prim::Constant[value=31]()
  %6 : int = prim::Constant[value=1000]()
  %7 : int = prim::Constant[value=-9223372036854775808]()
  %8 : (int, int, float, float, complex, int, int, int) = prim::TupleConstruct(%0, %1, %2, %3, %4, %5, %6, %7)
  return (%8)
