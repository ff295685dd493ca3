# run: compile
def f(xs: List[int]):
  s = 0
  for x in xs:
    if x == 2:
      continue
    s += x
  return s
# ---- expect
graph(%xs : int[]):
  %s.1 : int = prim::Constant[value=0]()
  %2 : int = aten::len(%xs)
  %3 : bool = prim::Constant[value=1]()
  %s : int = prim::Loop(%2, %3, %s.1)
    block0(%4 : int, %s.2 : int):
      %x : int = aten::__getitem__(%xs, %4)
      %7 : int = prim::Constant[value=2]()
      %8 : bool = aten::eq(%x, %7)
      %s.4 : int = prim::If(%8)
        block0():
          -> (%s.2)
        block1():
          %s.3 : int = aten::add(%s.2, %x)
          -> (%s.3)
      -> (%3, %s.4)
  return (%s)
