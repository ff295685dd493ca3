# run: compile
def f():
    return torch.float32, torch.int64, torch.strided, torch.channels_last, torch.pi, math.inf, torch.device("cpu"), torch.device("cuda", 1), inf, torch.per_tensor_affine
# ---- expect
graph():
  %0 : int = prim::Constant[value=6]()
  %1 : int = prim::Constant[value=4]()
  %2 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=2]()
  %4 : float = prim::Constant[value=3.1415926535897931]()
  %5 : float = prim::Constant[value=inf]()
  %7 : Device = prim::Constant[value="cpu"]()
  %10 : Device = prim::Constant[value="cuda:1"]()
  %11 : float = prim::Constant[value=inf]()
  %12 : int = prim::Constant[value=0]()
  %13 : (int, int, int, int, float, float, Device, Device, float, int) = prim::TupleConstruct(%0, %1, %2, %3, %4, %5, %7, %10, %11, %12)
  return (%13)
