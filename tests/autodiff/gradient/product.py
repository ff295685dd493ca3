# run: gradient
def f(x, y):
  return (x * y) * x
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# call: f(torch.randn(2), torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu)):
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %4 : Float(*, device=cpu) = aten::mul(%3, %0)
  return (%4)
# keeps %0, %1, %2, %3
# backward, of %4 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %18 : Float(*, requires_grad=1, device=cpu),
      %19 : Float(*, requires_grad=1, device=cpu),
      %20 : Float(*, requires_grad=1, device=cpu),
      %21 : Float(*, device=cpu)):
  %3 : Tensor = aten::mul(%0, %18)
  %4 : int[] = aten::size(%21)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %21)
  %7 : int[] = aten::size(%18)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %11 : Tensor = aten::mul(%5, %20)
  %12 : int[] = aten::size(%19)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%11, %12)
  %14 : Tensor = aten::mul(%5, %19)
  %15 : int[] = aten::size(%20)
  %16 : Tensor(*) = aten::_grad_sum_to_size(%14, %15)
  %17 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%8, %13, %16)
  return (%17)
# f(torch.randn(2).requires_grad_(), torch.randn(2))
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %5 : int[] = aten::size(%1)
  %3 : Float(*, device=cpu) = aten::mul(%1, %y)
  %4 : Float(*, device=cpu) = aten::mul(%3, %0)
  return (%4)
# keeps %0, %y, %3, %5
# backward, of %4 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %16 : Float(*, requires_grad=1, device=cpu),
      %17 : Float(*, requires_grad=0, device=cpu),
      %18 : Float(*, device=cpu),
      %19 : int[]):
  %3 : Tensor = aten::mul(%0, %16)
  %4 : int[] = aten::size(%18)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %18)
  %7 : int[] = aten::size(%16)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %11 : Tensor = aten::mul(%5, %17)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%11, %19)
  %14 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%8, %13)
  return (%14)
# f(torch.randn(2), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %x : Float(*, requires_grad=0, device=cpu)):
  %4 : int[] = aten::size(%0)
  %2 : Float(*, device=cpu) = aten::mul(%x, %0)
  %5 : int[] = aten::size(%2)
  %3 : Float(*, device=cpu) = aten::mul(%2, %x)
  return (%3)
# keeps %x, %4, %5
# backward, of %3 with respect to %0
graph(%0 : Float(*, device=cpu),
      %13 : Float(*, requires_grad=0, device=cpu),
      %14 : int[],
      %15 : int[]):
  %3 : Tensor = aten::mul(%0, %13)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %15)
  %7 : Tensor = aten::mul(%5, %13)
  %9 : Tensor(*) = aten::_grad_sum_to_size(%7, %14)
  %10 : (Tensor(*)) = prim::TupleConstruct(%9)
  return (%10)
