# run: gradient
def f(x, y):
  return x / y / x
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu)):
  %3 : Float(*, device=cpu) = aten::div(%1, %2)
  %4 : Float(*, device=cpu) = aten::div(%3, %0)
  return (%4)
# keeps %0, %1, %2, %3
# backward, of %4 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %24 : Float(*, requires_grad=1, device=cpu),
      %25 : Float(*, requires_grad=1, device=cpu),
      %26 : Float(*, requires_grad=1, device=cpu),
      %27 : Float(*, device=cpu)):
  %3 : Tensor = aten::div(%0, %24)
  %4 : int[] = aten::size(%27)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::neg(%0)
  %7 : Tensor = aten::div(%27, %24)
  %8 : Tensor = aten::div(%7, %24)
  %9 : Tensor = aten::mul(%6, %8)
  %10 : int[] = aten::size(%24)
  %11 : Tensor(*) = aten::_grad_sum_to_size(%9, %10)
  %14 : Tensor = aten::div(%5, %26)
  %15 : int[] = aten::size(%25)
  %16 : Tensor(*) = aten::_grad_sum_to_size(%14, %15)
  %17 : Tensor = aten::neg(%5)
  %18 : Tensor = aten::div(%25, %26)
  %19 : Tensor = aten::div(%18, %26)
  %20 : Tensor = aten::mul(%17, %19)
  %21 : int[] = aten::size(%26)
  %22 : Tensor(*) = aten::_grad_sum_to_size(%20, %21)
  %23 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%11, %16, %22)
  return (%23)
