# run: compile, functionalize
# What is written to an `out=` argument is a result of a functional call; where the graph has made the tensor, it may have other sizes after it.
def f(x, y):
  z = torch.empty([0])
  torch.add(x, y, out=z)
  w = z[0]
  torch.mul(w, w, out=w)
  return z, w
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=0]()
  %3 : int[] = prim::ListConstruct(%2)
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %6 : NoneType = prim::Constant()
  %7 : NoneType = prim::Constant()
  %8 : NoneType = prim::Constant()
  %z : Tensor = aten::empty(%3, %4, %5, %6, %7, %8)
  %10 : int = prim::Constant[value=1]()
  %17 : bool = prim::Constant[value=1]()
  %18 : Tensor = cresset::functional_aten_add(%x, %y, %10, %z, %17)
  %12 : int = prim::Constant[value=0]()
  %13 : int = prim::Constant[value=0]()
  %w.1 : Tensor = aten::select(%18, %13, %12)
  %19 : bool = prim::Constant[value=0]()
  %20 : Tensor = cresset::functional_aten_mul(%w.1, %w.1, %w.1, %19)
  %21 : Tensor = aten::select_scatter(%18, %20, %13, %12)
  %w : Tensor = aten::select(%21, %13, %12)
  %16 : (Tensor, Tensor) = prim::TupleConstruct(%21, %w)
  return (%16)
