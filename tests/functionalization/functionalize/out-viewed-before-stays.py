# run: compile, functionalize
# A view that was made before an `out=` argument got its sizes is not made again.
def f(x, y):
  z = torch.empty_like(x)
  v = z.view(-1)
  torch.add(x, y, out=z)
  return z, v
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %2 : NoneType = prim::Constant()
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %6 : NoneType = prim::Constant()
  %z : Tensor = aten::empty_like(%x, %2, %3, %4, %5, %6)
  %8 : int = prim::Constant[value=-1]()
  %9 : int[] = prim::ListConstruct(%8)
  %v : Tensor = aten::view(%z, %9)
  %11 : int = prim::Constant[value=1]()
  %12 : Tensor = aten::add(%x, %y, %11, %z)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%z, %v)
  return (%13)
