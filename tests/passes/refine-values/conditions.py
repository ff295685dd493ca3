# run: compile, refine-values
# Both parts of an `and` hold in its branch, none of an `or`; the condition itself is True or False there.
def f(n: int, m: int, c: bool):
  r = 0
  if n == 4 and m == 5:
    r = n + m
  if n == 4 or m == 5:
    r = n - m
  else:
    r = n * m
  if not c:
    r = int(c)
  return r
# ---- expect
graph(%n : int,
      %m : int,
      %c : bool):
  %4 : int = prim::Constant[value=4]()
  %5 : bool = aten::eq(%n, %4)
  %9 : bool = prim::If(%5)
    block0():
      %6 : int = prim::Constant[value=5]()
      %7 : bool = aten::eq(%m, %6)
      -> (%7)
    block1():
      %8 : bool = prim::Constant[value=0]()
      -> (%8)
   = prim::If(%9)
    block0():
      %24 : int = prim::Constant[value=4]()
      %25 : int = prim::Constant[value=5]()
      %r.2 : int = aten::add(%24, %25)
      -> ()
    block1():
      -> ()
  %12 : int = prim::Constant[value=4]()
  %13 : bool = aten::eq(%n, %12)
  %17 : bool = prim::If(%13)
    block0():
      %14 : bool = prim::Constant[value=1]()
      -> (%14)
    block1():
      %15 : int = prim::Constant[value=5]()
      %16 : bool = aten::eq(%m, %15)
      -> (%16)
  %r.6 : int = prim::If(%17)
    block0():
      %r.4 : int = aten::sub(%n, %m)
      -> (%r.4)
    block1():
      %r.5 : int = aten::mul(%n, %m)
      -> (%r.5)
  %21 : bool = aten::__not__(%c)
  %r : int = prim::If(%21)
    block0():
      %26 : bool = prim::Constant[value=0]()
      %r.7 : int = aten::Int(%26)
      -> (%r.7)
    block1():
      -> (%r.6)
  return (%r)
