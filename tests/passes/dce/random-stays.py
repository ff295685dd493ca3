# run: compile, dce
def f(x):
  a = torch.rand_like(x)
  b = torch.dropout(x, 0.5, True)
  c = torch.zeros_like(x)
  return x
# ---- expect
graph(%x : Tensor):
  %1 : NoneType = prim::Constant()
  %2 : NoneType = prim::Constant()
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %a : Tensor = aten::rand_like(%x, %1, %2, %3, %4, %5)
  %7 : float = prim::Constant[value=0.5]()
  %8 : bool = prim::Constant[value=1]()
  %b : Tensor = aten::dropout(%x, %7, %8)
  %10 : NoneType = prim::Constant()
  %11 : NoneType = prim::Constant()
  %12 : NoneType = prim::Constant()
  %13 : NoneType = prim::Constant()
  %14 : NoneType = prim::Constant()
  %c : Tensor = aten::zeros_like(%x, %10, %11, %12, %13, %14)
  return (%x)
