# run: compile
def f(x: Tensor):
    return x.shape, x.dtype, x.device, x.layout, x.requires_grad, x.ndim, x.T, x.mH, x.is_cuda, x.grad, x.device.type, x.device.index
# ---- expect
graph(%x : Tensor):
  %1 : int[] = aten::size(%x)
  %2 : int = prim::dtype(%x)
  %3 : Device = prim::device(%x)
  %4 : int = prim::layout(%x)
  %5 : bool = prim::requires_grad(%x)
  %6 : int = aten::dim(%x)
  %7 : Tensor = aten::numpy_T(%x)
  %8 : Tensor = aten::mH(%x)
  %9 : bool = prim::is_cuda(%x)
  %10 : Tensor = prim::grad(%x)
  %11 : Device = prim::device(%x)
  %12 : str = prim::type(%11)
  %13 : Device = prim::device(%x)
  %14 : int? = prim::index(%13)
  %15 : (int[], int, Device, int, bool, int, Tensor, Tensor, bool, Tensor, str, int?) = prim::TupleConstruct(%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %12, %14)
  return (%15)
