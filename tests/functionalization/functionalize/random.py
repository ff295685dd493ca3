# run: compile, functionalize
# Random numbers are drawn in the same order.
def f(x):
  a = torch.zeros_like(x)
  a.uniform_()
  b = torch.rand_like(x)
  a.normal_()
  return a, b
# ---- expect
graph(%x : Tensor):
  %1 : NoneType = prim::Constant()
  %2 : NoneType = prim::Constant()
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %a : Tensor = aten::zeros_like(%x, %1, %2, %3, %4, %5)
  %7 : float = prim::Constant[value=0.]()
  %8 : float = prim::Constant[value=1.]()
  %9 : NoneType = prim::Constant()
  %22 : Tensor = cresset::uniform(%a, %7, %8, %9)
  %11 : NoneType = prim::Constant()
  %12 : NoneType = prim::Constant()
  %13 : NoneType = prim::Constant()
  %14 : NoneType = prim::Constant()
  %15 : NoneType = prim::Constant()
  %b : Tensor = aten::rand_like(%x, %11, %12, %13, %14, %15)
  %17 : float = prim::Constant[value=0.]()
  %18 : float = prim::Constant[value=1.]()
  %19 : NoneType = prim::Constant()
  %23 : bool = prim::Constant[value=0]()
  %24 : Tensor = cresset::functional_aten_normal_(%22, %17, %18, %19, %23)
  %21 : (Tensor, Tensor) = prim::TupleConstruct(%24, %b)
  return (%21)
