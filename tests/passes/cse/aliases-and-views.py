# run: compile, pool-constants, cse
# Two views of one tensor are two tensors to whoever gets them, and equal to whoever reads them.
def f(x):
  a = x.t()
  b = x.t()
  return a, b, x.t().dim() + x.t().dim()
# ---- expect
graph(%x : Tensor):
  %a : Tensor = aten::t(%x)
  %b : Tensor = aten::t(%x)
  %3 : Tensor = aten::t(%x)
  %4 : int = aten::dim(%3)
  %5 : Tensor = aten::t(%x)
  %6 : int = aten::dim(%5)
  %7 : int = aten::add(%4, %6)
  %8 : (Tensor, Tensor, int) = prim::TupleConstruct(%a, %b, %7)
  return (%8)
