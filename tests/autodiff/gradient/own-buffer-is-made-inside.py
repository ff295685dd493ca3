# run: gradient
def f(x):
  out = torch.zeros_like(x)
  out[0] = x[1] * 2
  return out * x
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu)):
  %13 : int[] = aten::size(%1)
  %3 : NoneType = prim::Constant()
  %out : Float(*, requires_grad=0, device=cpu) = aten::zeros_like(%2, %3, %3, %3, %3, %3)
  %5 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=1]()
  %7 : Float(device=cpu) = aten::select(%1, %5, %6)
  %8 : int = prim::Constant[value=2]()
  %9 : Float(device=cpu) = aten::mul(%7, %8)
  %14 : int[] = aten::size(%9)
  %10 : Float(requires_grad=0, device=cpu) = aten::select(%out, %5, %5)
  %11 : Float(*, device=cpu) = cresset::select_assign(%out, %9, %5, %5)
  %12 : Float(*, device=cpu) = aten::mul(%11, %0)
  return (%12)
# keeps %0, %11, %13, %14
# backward, of %12 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %27 : Float(*, requires_grad=1, device=cpu),
      %28 : Float(*, device=cpu),
      %29 : int[],
      %30 : int[]):
  %21 : int = prim::Constant[value=1]()
  %17 : int = prim::Constant[value=2]()
  %13 : NoneType = prim::Constant()
  %10 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::mul(%0, %27)
  %4 : int[] = aten::size(%28)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %28)
  %7 : int[] = aten::size(%27)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %12 : Tensor = aten::select(%5, %10, %10)
  %14 : Tensor = aten::clone(%12, %13)
  %16 : Tensor() = aten::_grad_sum_to_size(%14, %30)
  %18 : Tensor() = aten::mul(%16, %17)
  %23 : Tensor(*) = aten::select_backward(%18, %29, %10, %21)
  %24 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%8, %23)
  return (%24)
