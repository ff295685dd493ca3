# run: gradient
def f(x):
  return torch.softmax(x * 2, 1) + torch.log_softmax(x, 1)
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu)):
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, *, device=cpu) = aten::mul(%1, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : NoneType = prim::Constant()
  %6 : Float(*, *, device=cpu) = aten::softmax(%3, %4, %5)
  %7 : Float(*, *, device=cpu) = aten::log_softmax(%0, %4, %5)
  %8 : Float(*, *, device=cpu) = aten::add(%6, %7, %4)
  return (%8)
# keeps %6, %7
# backward, of %8 with respect to %0, %1
graph(%0 : Float(*, *, device=cpu),
      %16 : Float(*, *, device=cpu),
      %17 : Float(*, *, device=cpu)):
  %13 : int = prim::Constant[value=2]()
  %8 : int = prim::Constant[value=6]()
  %7 : int = prim::Constant[value=1]()
  %2 : int[] = aten::size(%16)
  %3 : Tensor(*, *) = aten::_grad_sum_to_size(%0, %2)
  %5 : int[] = aten::size(%17)
  %6 : Tensor(*, *) = aten::_grad_sum_to_size(%0, %5)
  %9 : Tensor(*, *) = aten::_log_softmax_backward_data(%6, %17, %7, %8)
  %12 : Tensor(*, *) = aten::_softmax_backward_data(%3, %16, %7, %8)
  %14 : Tensor(*, *) = aten::mul(%12, %13)
  %15 : (Tensor(*, *), Tensor(*, *)) = prim::TupleConstruct(%9, %14)
  return (%15)
