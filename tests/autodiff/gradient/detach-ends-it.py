# run: gradient
def f(x):
  return (x * 2).detach() * x + 1
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=0, device=cpu)):
  %5 : int[] = aten::size(%0)
  %2 : Float(*, device=cpu) = aten::mul(%1, %0)
  %3 : int = prim::Constant[value=1]()
  %4 : Float(*, device=cpu) = aten::add(%2, %3, %3)
  return (%4)
# keeps %1, %5
# backward, of %4 with respect to %0
graph(%0 : Float(*, device=cpu),
      %8 : Float(*, requires_grad=0, device=cpu),
      %9 : int[]):
  %3 : Tensor = aten::mul(%0, %8)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %9)
  %6 : (Tensor(*)) = prim::TupleConstruct(%5)
  return (%6)
