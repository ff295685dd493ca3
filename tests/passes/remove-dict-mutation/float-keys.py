# run: compile, remove-dict-mutation, constant-propagation, dce
# 0.0 and -0.0 are one key.
def f(n: int):
  d = {0.0: n}
  d[-0.0] = 5
  return d[0.0], len(d)
# ---- expect
graph(%n : int):
  %1 : float = prim::Constant[value=0.]()
  %d : Dict(float, int) = prim::DictConstruct(%1, %n)
  %3 : int = prim::Constant[value=5]()
  %4 : float = prim::Constant[value=-0.]()
   = aten::_set_item(%d, %4, %3)
  %6 : float = prim::Constant[value=0.]()
  %7 : int = aten::__getitem__(%d, %6)
  %8 : int = aten::len(%d)
  %9 : (int, int) = prim::TupleConstruct(%7, %8)
  return (%9)
