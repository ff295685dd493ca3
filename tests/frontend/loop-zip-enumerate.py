# run: compile
def f(xs: List[int], ys: List[float]):
  s = 0.0
  for i, (x, y) in enumerate(zip(xs, ys)):
    s += x * y + i
  return s
# ---- expect
graph(%xs : int[],
      %ys : float[]):
  %s.1 : float = prim::Constant[value=0.]()
  %3 : int = aten::len(%xs)
  %4 : int = aten::len(%ys)
  %5 : int[] = prim::ListConstruct(%3, %4)
  %6 : int = prim::min(%5)
  %7 : bool = prim::Constant[value=1]()
  %s : float = prim::Loop(%6, %7, %s.1)
    block0(%i : int, %s.2 : float):
      %x : int = aten::__getitem__(%xs, %i)
      %y : float = aten::__getitem__(%ys, %i)
      %12 : float = aten::mul(%x, %y)
      %13 : float = aten::add(%12, %i)
      %s.3 : float = aten::add(%s.2, %13)
      -> (%7, %s.3)
  return (%s)
