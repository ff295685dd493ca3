# run: compile, functionalize
def f(x):
  return x[0] * 2
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::select(%x, %2, %1)
  %4 : int = prim::Constant[value=2]()
  %5 : Tensor = aten::mul(%3, %4)
  return (%5)
