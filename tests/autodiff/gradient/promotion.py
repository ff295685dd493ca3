# run: gradient
# The gradient of the float32 tensor is converted back.
def f(x, y):
  return x * y + y
# call: f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2, dtype=torch.float64).requires_grad_())
# forward
graph(%0 : Double(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Double(*, requires_grad=1, device=cpu)):
  %6 : int[] = aten::size(%0)
  %3 : Double(*, device=cpu) = aten::mul(%1, %2)
  %7 : int[] = aten::size(%3)
  %4 : int = prim::Constant[value=1]()
  %5 : Double(*, device=cpu) = aten::add(%3, %0, %4)
  return (%5)
# keeps %1, %2, %6, %7
# backward, of %5 with respect to %0, %1, %2
graph(%0 : Double(*, device=cpu),
      %22 : Float(*, requires_grad=1, device=cpu),
      %23 : Double(*, requires_grad=1, device=cpu),
      %24 : int[],
      %25 : int[]):
  %14 : NoneType = prim::Constant()
  %13 : bool = prim::Constant[value=0]()
  %12 : int = prim::Constant[value=6]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %25)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %24)
  %9 : Tensor = aten::mul(%3, %23)
  %10 : int[] = aten::size(%22)
  %11 : Tensor = aten::_grad_sum_to_size(%9, %10)
  %15 : Float(*, device=cpu) = aten::to(%11, %12, %13, %13, %14)
  %16 : Tensor = aten::mul(%3, %22)
  %17 : int[] = aten::size(%23)
  %18 : Tensor(*) = aten::_grad_sum_to_size(%16, %17)
  %19 : (Tensor(*), Float(*, device=cpu), Tensor(*)) = prim::TupleConstruct(%6, %15, %18)
  return (%19)
