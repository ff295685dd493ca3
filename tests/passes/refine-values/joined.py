# run: compile, refine-values, dce
# 1 where n is 1, and n elsewhere, is n. Of another value, or where it is unequal, it is not.
def f(n: int, m: int, s: str):
    a = 1 if n == 1 else n
    b = n if n != 2 else 2
    c = 1 if n == 1 else m
    d = 3 if n != 3 else n
    e = "x" if s == "x" else s
    return a, b, c, d, e
# ---- expect
graph(%n : int,
      %m : int,
      %s : str):
  %11 : int = prim::Constant[value=1]()
  %12 : bool = aten::eq(%n, %11)
  %c : int = prim::If(%12)
    block0():
      %13 : int = prim::Constant[value=1]()
      -> (%13)
    block1():
      -> (%m)
  %15 : int = prim::Constant[value=3]()
  %16 : bool = aten::ne(%n, %15)
  %d : int = prim::If(%16)
    block0():
      %17 : int = prim::Constant[value=3]()
      -> (%17)
    block1():
      %24 : int = prim::Constant[value=3]()
      -> (%24)
  %23 : (int, int, int, int, str) = prim::TupleConstruct(%n, %n, %c, %d, %s)
  return (%23)
