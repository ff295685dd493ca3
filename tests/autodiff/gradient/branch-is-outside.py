# run: gradient
def f(x):
  y = x * x + 1
  if y.sum() > 0:
    y = y.exp() * y
  return y * 2 + y
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %y.1 : Float(*, device=cpu) = aten::add(%2, %3, %3)
  %7 : int[] = aten::size(%y.1)
  %5 : NoneType = prim::Constant()
  %6 : Float(device=cpu) = aten::sum(%y.1, %5)
  return (%y.1, %6)
# keeps %0, %1, %7
# backward, of %y.1, %6 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %1 : Float(device=cpu),
      %22 : Float(*, requires_grad=1, device=cpu),
      %23 : Float(*, requires_grad=1, device=cpu),
      %24 : int[]):
  %6 : int = prim::Constant[value=1]()
  %4 : bool = prim::Constant[value=0]()
  %5 : Tensor(*) = aten::expand(%1, %24, %4)
  %10 : Float(*, device=cpu) = aten::add(%0, %5, %6)
  %13 : Tensor = aten::mul(%10, %23)
  %14 : int[] = aten::size(%22)
  %15 : Tensor(*) = aten::_grad_sum_to_size(%13, %14)
  %16 : Tensor = aten::mul(%10, %22)
  %17 : int[] = aten::size(%23)
  %18 : Tensor(*) = aten::_grad_sum_to_size(%16, %17)
  %19 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%15, %18)
  return (%19)
# forward
graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu)):
  %2 : Float(*, device=cpu) = aten::exp(%1)
  %y.2 : Float(*, device=cpu) = aten::mul(%2, %0)
  return (%y.2)
# keeps %0, %2
# backward, of %y.2 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %11 : Float(*, device=cpu),
      %12 : Float(*, device=cpu)):
  %3 : Tensor = aten::mul(%0, %11)
  %4 : int[] = aten::size(%12)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %12)
  %7 : int[] = aten::size(%11)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %9 : Tensor(*) = aten::mul(%5, %12)
  %10 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%8, %9)
  return (%10)
# forward
graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu)):
  %6 : int[] = aten::size(%0)
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %7 : int[] = aten::size(%3)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(*, device=cpu) = aten::add(%3, %0, %4)
  return (%5)
# keeps %6, %7
# backward, of %5 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %12 : int[],
      %13 : int[]):
  %7 : int = prim::Constant[value=2]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %13)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %12)
  %8 : Tensor(*) = aten::mul(%3, %7)
  %9 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%6, %8)
  return (%9)
