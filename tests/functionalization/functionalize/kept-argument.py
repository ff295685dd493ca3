# run: compile, functionalize
# Autograd keeps what `mul_` writes to; where that is an argument, which gets its last value at the end, it is a copy. Of what `add_` writes it keeps nothing.
def f(x):
  x.add_(1)
  x[0].mul_(x.sum())
  return x

def g(x):
  x[0].mul_(x.sum())
  x.mul_(x.sum())
  return x
# ---- expect
# f
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=1]()
  %10 : Tensor = cresset::add(%x, %1, %2)
  %4 : int = prim::Constant[value=0]()
  %5 : int = prim::Constant[value=0]()
  %6 : Tensor = aten::select(%10, %5, %4)
  %7 : NoneType = prim::Constant()
  %8 : Tensor = aten::sum(%10, %7)
  %11 : Tensor = cresset::mul(%6, %8)
  %12 : Tensor = aten::select_scatter(%10, %11, %5, %4)
  %13 : bool = prim::Constant[value=0]()
  %14 : Tensor = aten::copy_(%x, %12, %13)
  return (%x)
# g
graph(%x : Tensor):
  %1 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::select(%x, %2, %1)
  %4 : NoneType = prim::Constant()
  %5 : Tensor = aten::sum(%x, %4)
  %10 : Tensor = cresset::apart_from(%3, %x)
  %11 : Tensor = cresset::mul(%10, %5)
  %12 : Tensor = aten::select_scatter(%x, %11, %2, %1)
  %7 : NoneType = prim::Constant()
  %8 : Tensor = aten::sum(%12, %7)
  %13 : Tensor = cresset::mul(%12, %8)
  %14 : bool = prim::Constant[value=0]()
  %15 : Tensor = aten::copy_(%x, %13, %14)
  return (%x)
