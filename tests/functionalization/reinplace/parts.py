# run: compile, functionalize, tidy-functional, reinplace
# Parts of a tensor that the graph made are assigned in its memory.
def f(x):
  a = x * 2
  a[1].add_(1)
  a[1:].mul_(2)
  return a
# ---- expect
graph(%x : Tensor):
  %11 : NoneType = prim::Constant()
  %4 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %5 : Tensor = aten::select(%a, %4, %3)
  %16 : Tensor = aten::add_(%5, %3, %3)
  %13 : Tensor = aten::slice(%a, %4, %3, %11, %3)
  %18 : Tensor = aten::mul_(%13, %1)
  return (%a)
