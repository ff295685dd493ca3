# run: compile, functionalize, tidy-functional, reinplace
# In-place operators make the copies that autograd keeps themselves.
def f(x):
  x[0].mul_(x.sum())
  x.mul_(x.sum())
  return x
# ---- expect
graph(%x : Tensor):
  %14 : bool = prim::Constant[value=0]()
  %4 : NoneType = prim::Constant()
  %1 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::select(%x, %1, %1)
  %5 : Tensor = aten::sum(%x, %4)
  %11 : Tensor = aten::mul_(%3, %5)
  %8 : Tensor = aten::sum(%x, %4)
  %13 : Tensor = aten::mul_(%x, %8)
  return (%x)
