# run: compile, refine-values
# In a branch that a comparison chose, and after a branch that raises.
def f(n: int, m: int, s: str, xs: List[int]):
  r = 0
  if n == 4:
    r = n + m
  else:
    r = n - m
  if m != 2:
    raise ValueError("two")
  r = r + m
  if s == "a":
    r = r + len(s)
  if len(xs) == 3:
    r = r + len(xs)
  return r
# ---- expect
graph(%n : int,
      %m : int,
      %s : str,
      %xs : int[]):
  %5 : int = prim::Constant[value=4]()
  %6 : bool = aten::eq(%n, %5)
  %r.4 : int = prim::If(%6)
    block0():
      %26 : int = prim::Constant[value=4]()
      %r.2 : int = aten::add(%26, %m)
      -> (%r.2)
    block1():
      %r.3 : int = aten::sub(%n, %m)
      -> (%r.3)
  %10 : int = prim::Constant[value=2]()
  %11 : bool = aten::ne(%m, %10)
   = prim::If(%11)
    block0():
      %12 : str = prim::Constant[value="two"]()
      %13 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%12, %13)
      -> ()
    block1():
      -> ()
  %27 : int = prim::Constant[value=2]()
  %r.5 : int = aten::add(%r.4, %27)
  %15 : str = prim::Constant[value="a"]()
  %16 : bool = aten::eq(%s, %15)
  %r.7 : int = prim::If(%16)
    block0():
      %28 : str = prim::Constant[value="a"]()
      %17 : int = aten::len(%28)
      %r.6 : int = aten::add(%r.5, %17)
      -> (%r.6)
    block1():
      -> (%r.5)
  %20 : int = aten::len(%xs)
  %21 : int = prim::Constant[value=3]()
  %22 : bool = aten::eq(%20, %21)
  %r : int = prim::If(%22)
    block0():
      %29 : int = prim::Constant[value=3]()
      %23 : int = aten::len(%xs)
      %r.8 : int = aten::add(%r.7, %29)
      -> (%r.8)
    block1():
      -> (%r.7)
  return (%r)
