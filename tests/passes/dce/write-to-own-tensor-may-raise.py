# run: compile, dce
# Nobody ever sees the tensor, but operators on tensors of unknown kind may raise.
def f(x):
  y = torch.zeros_like(x)
  y.add_(1)
  z = x.clone()
  z.zero_()
  return x
# ---- expect
graph(%x : Tensor):
  %1 : NoneType = prim::Constant()
  %2 : NoneType = prim::Constant()
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %y : Tensor = aten::zeros_like(%x, %1, %2, %3, %4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=1]()
  %9 : Tensor = aten::add_(%y, %7, %8)
  %10 : NoneType = prim::Constant()
  %z : Tensor = aten::clone(%x, %10)
  %12 : Tensor = aten::zero_(%z)
  return (%x)
