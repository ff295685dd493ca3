# run: gradient
def f(x):
  return x.clamp(-1, 1) * x.clamp(min=0.0)
# call: f(torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : int = prim::Constant[value=-1]()
  %3 : int = prim::Constant[value=1]()
  %4 : Float(*, device=cpu) = aten::clamp(%1, %2, %3)
  %5 : float = prim::Constant[value=0.]()
  %6 : NoneType = prim::Constant()
  %7 : Float(*, device=cpu) = aten::clamp(%0, %5, %6)
  %8 : Float(*, device=cpu) = aten::mul(%4, %7)
  return (%8)
# keeps %0, %1, %4, %7
# backward, of %8 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %26 : Float(*, requires_grad=1, device=cpu),
      %27 : Float(*, requires_grad=1, device=cpu),
      %28 : Float(*, device=cpu),
      %29 : Float(*, device=cpu)):
  %17 : int = prim::Constant[value=1]()
  %16 : int = prim::Constant[value=-1]()
  %10 : float = prim::Constant[value=0.]()
  %3 : Tensor = aten::mul(%0, %29)
  %4 : int[] = aten::size(%28)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %28)
  %7 : int[] = aten::size(%29)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %min : Scalar = prim::unchecked_cast(%10)
  %12 : Tensor = aten::ge(%26, %min)
  %14 : Tensor(*) = aten::where(%12, %8, %10)
  %max.2 : Scalar = prim::unchecked_cast(%17)
  %min.3 : Scalar = prim::unchecked_cast(%16)
  %20 : Tensor = aten::ge(%27, %min.3)
  %21 : Tensor = aten::le(%27, %max.2)
  %22 : Tensor = aten::logical_and(%20, %21)
  %24 : Tensor(*) = aten::where(%22, %5, %10)
  %25 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%14, %24)
  return (%25)
