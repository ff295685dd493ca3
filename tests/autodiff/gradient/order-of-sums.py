# run: gradient
# Gradients of a value that is used several times are added in the order of autograd's engine: the last use first.
def f(x):
  a = x * 2
  return a.sin() + a.cos() + a.exp()
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %a : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : Float(*, device=cpu) = aten::sin(%a)
  %9 : int[] = aten::size(%3)
  %4 : Float(*, device=cpu) = aten::cos(%a)
  %10 : int[] = aten::size(%4)
  %5 : int = prim::Constant[value=1]()
  %6 : Float(*, device=cpu) = aten::add(%3, %4, %5)
  %11 : int[] = aten::size(%6)
  %7 : Float(*, device=cpu) = aten::exp(%a)
  %8 : Float(*, device=cpu) = aten::add(%6, %7, %5)
  return (%8)
# keeps %a, %7, %9, %10, %11
# backward, of %8 with respect to %0
graph(%0 : Float(*, device=cpu),
      %30 : Float(*, device=cpu),
      %31 : Float(*, device=cpu),
      %32 : int[],
      %33 : int[],
      %34 : int[]):
  %24 : int = prim::Constant[value=2]()
  %18 : int = prim::Constant[value=1]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %34)
  %5 : int[] = aten::size(%31)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %5)
  %7 : Tensor(*) = aten::mul(%6, %31)
  %10 : Tensor(*) = aten::_grad_sum_to_size(%3, %32)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%3, %33)
  %15 : Tensor = aten::sin(%30)
  %16 : Tensor = aten::neg(%15)
  %17 : Tensor(*) = aten::mul(%13, %16)
  %19 : Float(*, device=cpu) = aten::add(%7, %17, %18)
  %20 : Tensor = aten::cos(%30)
  %21 : Tensor(*) = aten::mul(%10, %20)
  %23 : Float(*, device=cpu) = aten::add(%19, %21, %18)
  %25 : Tensor(*) = aten::mul(%23, %24)
  %26 : (Tensor(*)) = prim::TupleConstruct(%25)
  return (%26)
