# run: compile
def f(x: Tuple[int, float]):
  s = 0.0
  for v in x:
    s = s + v
  return s
# ---- expect
graph(%x : (int, float)):
  %s.1 : float = prim::Constant[value=0.]()
  %v.1 : int, %v : float = prim::TupleUnpack(%x)
  %s.2 : float = aten::add(%s.1, %v.1)
  %s : float = aten::add(%s.2, %v)
  return (%s)
