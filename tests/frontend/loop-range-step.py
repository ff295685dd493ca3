# run: compile
def f(n: int):
  s = 0
  for i in range(2, n, 3):
    s += i
  return s
# ---- expect
graph(%n : int):
  %s.1 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=3]()
  %4 : int = aten::__range_length(%2, %n, %3)
  %5 : bool = prim::Constant[value=1]()
  %s : int = prim::Loop(%4, %5, %s.1)
    block0(%6 : int, %s.2 : int):
      %i : int = aten::__derive_index(%6, %2, %3)
      %s.3 : int = aten::add(%s.2, %i)
      -> (%5, %s.3)
  return (%s)
