# run: gradient
def f(x, y):
  return (x + y) - x
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu)):
  %8 : int[] = aten::size(%2)
  %7 : int[] = aten::size(%1)
  %6 : int[] = aten::size(%0)
  %3 : int = prim::Constant[value=1]()
  %4 : Float(*, device=cpu) = aten::add(%1, %2, %3)
  %9 : int[] = aten::size(%4)
  %5 : Float(*, device=cpu) = aten::sub(%4, %0, %3)
  return (%5)
# keeps %6, %7, %8, %9
# backward, of %5 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %19 : int[],
      %20 : int[],
      %21 : int[],
      %22 : int[]):
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %22)
  %5 : Tensor = aten::neg(%0)
  %7 : Tensor(*) = aten::_grad_sum_to_size(%5, %19)
  %10 : Tensor(*) = aten::_grad_sum_to_size(%3, %20)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%3, %21)
  %14 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%7, %10, %13)
  return (%14)
