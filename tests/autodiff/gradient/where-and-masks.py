# run: gradient
def f(x, y):
  return torch.where(x > 0, x * y, y).masked_fill(y < 0, 1.0)
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu),
      %3 : Float(*, requires_grad=1, device=cpu),
      %5 : Bool(*, requires_grad=0, device=cpu)):
  %11 : int[] = aten::size(%1)
  %4 : Float(*, device=cpu) = aten::mul(%2, %3)
  %12 : int[] = aten::size(%4)
  %6 : Float(*, device=cpu) = aten::where(%5, %4, %1)
  %13 : int[] = aten::size(%6)
  %7 : int = prim::Constant[value=0]()
  %8 : Bool(*, requires_grad=0, device=cpu) = aten::lt(%0, %7)
  %9 : float = prim::Constant[value=1.]()
  %10 : Float(*, device=cpu) = aten::masked_fill(%6, %8, %9)
  return (%10)
# keeps %2, %3, %5, %8, %11, %12, %13
# backward, of %10 with respect to %1, %2, %3
graph(%0 : Float(*, device=cpu),
      %30 : Float(*, requires_grad=1, device=cpu),
      %31 : Float(*, requires_grad=1, device=cpu),
      %32 : Bool(*, requires_grad=0, device=cpu),
      %33 : Bool(*, requires_grad=0, device=cpu),
      %34 : int[],
      %35 : int[],
      %36 : int[]):
  %3 : int = prim::Constant[value=0]()
  %4 : Tensor = aten::masked_fill(%0, %33, %3)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%4, %36)
  %10 : Tensor = aten::where(%32, %6, %3)
  %12 : Tensor(*) = aten::_grad_sum_to_size(%10, %35)
  %15 : Tensor = aten::where(%32, %3, %6)
  %17 : Tensor(*) = aten::_grad_sum_to_size(%15, %34)
  %20 : Tensor = aten::mul(%12, %31)
  %21 : int[] = aten::size(%30)
  %22 : Tensor(*) = aten::_grad_sum_to_size(%20, %21)
  %23 : Tensor = aten::mul(%12, %30)
  %24 : int[] = aten::size(%31)
  %25 : Tensor(*) = aten::_grad_sum_to_size(%23, %24)
  %26 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%17, %22, %25)
  return (%26)
