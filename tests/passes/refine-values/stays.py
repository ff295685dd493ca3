# run: compile, refine-values
# A list that is written to may have another length; -0.0 equals 0.0; 1 is True, but no bool.
def f(xs: List[int], v: float, n: Optional[int]):
  r = 0
  if len(xs) == 3:
    xs.append(1)
    r = len(xs)
  if v == 0.0:
    v = v * 2.0
  return r, v
# ---- expect
graph(%xs : int[],
      %v.1 : float,
      %n : int?):
  %r.1 : int = prim::Constant[value=0]()
  %4 : int = aten::len(%xs)
  %5 : int = prim::Constant[value=3]()
  %6 : bool = aten::eq(%4, %5)
  %r : int = prim::If(%6)
    block0():
      %7 : int = prim::Constant[value=1]()
      %8 : int[] = aten::append(%xs, %7)
      %r.2 : int = aten::len(%xs)
      -> (%r.2)
    block1():
      -> (%r.1)
  %11 : float = prim::Constant[value=0.]()
  %12 : bool = aten::eq(%v.1, %11)
  %v : float = prim::If(%12)
    block0():
      %13 : float = prim::Constant[value=2.]()
      %v.2 : float = aten::mul(%v.1, %13)
      -> (%v.2)
    block1():
      -> (%v.1)
  %16 : (int, float) = prim::TupleConstruct(%r, %v)
  return (%16)
