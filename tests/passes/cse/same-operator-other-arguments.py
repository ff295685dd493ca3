# run: compile, pool-constants, cse
def f(n: int, m: int):
  return n - m, m - n, n - m, n // m, n // m
# ---- expect
graph(%n : int,
      %m : int):
  %2 : int = aten::sub(%n, %m)
  %3 : int = aten::sub(%m, %n)
  %5 : int = aten::floordiv(%n, %m)
  %7 : (int, int, int, int, int) = prim::TupleConstruct(%2, %3, %2, %5, %5)
  return (%7)
