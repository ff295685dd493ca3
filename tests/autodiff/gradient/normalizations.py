# run: gradient
def f(x, w, b):
  return torch.nn.functional.layer_norm(x * 2, [3], w, b)
# call: f(torch.randn(2, 3).requires_grad_(), torch.ones(3).requires_grad_(), torch.zeros(3).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_(), torch.ones(3).requires_grad_(), torch.zeros(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, *, requires_grad=1, device=cpu)):
  %3 : int = prim::Constant[value=2]()
  %4 : Float(*, *, device=cpu) = aten::mul(%2, %3)
  %5 : int = prim::Constant[value=3]()
  %6 : int[] = prim::ListConstruct(%5)
  %7 : float = prim::Constant[value=1.0000000000000001e-05]()
  %8 : Float(*, *, device=cpu), %9 : Float(*, *, requires_grad=0, device=cpu), %10 : Float(*, *, requires_grad=0, device=cpu) = aten::native_layer_norm(%4, %6, %0, %1, %7)
  %11 : int[] = aten::size(%8)
  return (%8)
# keeps %0, %1, %4, %9, %10, %11
# backward, of %8 with respect to %0, %1, %2
graph(%0 : Float(*, *, device=cpu),
      %19 : Float(*, requires_grad=1, device=cpu),
      %20 : Float(*, requires_grad=1, device=cpu),
      %21 : Float(*, *, device=cpu),
      %22 : Float(*, *, requires_grad=0, device=cpu),
      %23 : Float(*, *, requires_grad=0, device=cpu),
      %24 : int[]):
  %15 : int = prim::Constant[value=2]()
  %8 : bool = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=3]()
  %7 : int[] = prim::ListConstruct(%6)
  %11 : bool[] = prim::ListConstruct(%8, %8, %8)
  %12 : Tensor(*, *), %13 : Tensor(*), %14 : Tensor(*) = aten::native_layer_norm_backward(%0, %21, %7, %22, %23, %19, %20, %11)
  %16 : Tensor(*, *) = aten::mul(%12, %15)
  %17 : (Tensor(*), Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%13, %14, %16)
  return (%17)
