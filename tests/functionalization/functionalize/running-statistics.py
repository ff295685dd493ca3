# run: compile, functionalize
# Batch norm in training writes running statistics, though its schema denies it.
def f(x, mean, var):
  h = torch.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, False)
  h.relu_()
  return h
# ---- expect
graph(%x : Tensor,
      %mean : Tensor,
      %var : Tensor):
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : bool = prim::Constant[value=1]()
  %6 : float = prim::Constant[value=0.10000000000000001]()
  %7 : float = prim::Constant[value=1.0000000000000001e-05]()
  %8 : bool = prim::Constant[value=0]()
  %11 : bool = prim::Constant[value=0]()
  %h : Tensor, %13 : Tensor, %14 : Tensor = cresset::functional_aten_batch_norm(%x, %3, %4, %mean, %var, %5, %6, %7, %8, %11)
  %15 : Tensor = cresset::relu(%h)
  %16 : bool = prim::Constant[value=0]()
  %17 : Tensor = aten::copy_(%mean, %13, %16)
  %18 : bool = prim::Constant[value=0]()
  %19 : Tensor = aten::copy_(%var, %14, %18)
  return (%15)
