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
   = cresset::check_overlap(%mean, %var, %11)
  %12 : bool = prim::Constant[value=0]()
  %h : Tensor, %14 : Tensor, %15 : Tensor = cresset::functional_aten_batch_norm(%x, %3, %4, %mean, %var, %5, %6, %7, %8, %12)
  %16 : Tensor = cresset::relu(%h)
  %17 : bool = prim::Constant[value=0]()
  %18 : Tensor = aten::copy_(%mean, %14, %17)
  %19 : bool = prim::Constant[value=0]()
  %20 : Tensor = aten::copy_(%var, %15, %19)
  return (%16)
