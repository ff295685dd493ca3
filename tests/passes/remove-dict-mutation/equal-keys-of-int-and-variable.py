# run: compile, remove-dict-mutation, dce
# `k` may be 1.
def f(n: int, k: int):
  d = {1: n}
  d[k] = 2
  return d[1]
# ---- expect
graph(%n : int,
      %k : int):
  %2 : int = prim::Constant[value=1]()
  %d : Dict(int, int) = prim::DictConstruct(%2, %n)
  %4 : int = prim::Constant[value=2]()
   = aten::_set_item(%d, %k, %4)
  %6 : int = prim::Constant[value=1]()
  %7 : int = aten::__getitem__(%d, %6)
  return (%7)
