# run: gradient
def f(x, y):
  return torch.maximum(x, y) * torch.minimum(x, y)
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2))
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %3 : Float(*, device=cpu) = aten::maximum(%1, %y)
  %4 : Float(*, device=cpu) = aten::minimum(%0, %y)
  %5 : Float(*, device=cpu) = aten::mul(%3, %4)
  return (%5)
# keeps %0, %1, %y, %3, %4
# backward, of %5 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %31 : Float(*, requires_grad=1, device=cpu),
      %32 : Float(*, requires_grad=1, device=cpu),
      %33 : Float(*, requires_grad=0, device=cpu),
      %34 : Float(*, device=cpu),
      %35 : Float(*, device=cpu)):
  %14 : int = prim::Constant[value=2]()
  %12 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::mul(%0, %35)
  %4 : int[] = aten::size(%34)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %34)
  %7 : int[] = aten::size(%35)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %11 : Tensor = aten::gt(%31, %33)
  %13 : Tensor = aten::eq(%31, %33)
  %15 : Tensor = aten::div(%8, %14)
  %16 : Tensor = aten::where(%13, %15, %8)
  %17 : Tensor = aten::where(%11, %12, %16)
  %18 : int[] = aten::size(%31)
  %19 : Tensor(*) = aten::_grad_sum_to_size(%17, %18)
  %21 : Tensor = aten::lt(%32, %33)
  %23 : Tensor = aten::eq(%32, %33)
  %25 : Tensor = aten::div(%5, %14)
  %26 : Tensor = aten::where(%23, %25, %5)
  %27 : Tensor = aten::where(%21, %12, %26)
  %28 : int[] = aten::size(%32)
  %29 : Tensor(*) = aten::_grad_sum_to_size(%27, %28)
  %30 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%19, %29)
  return (%30)
