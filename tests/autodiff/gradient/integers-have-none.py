# run: gradient
def f(x):
  m = (x > 0).to(torch.float32)
  return x * m + x.argmax()
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %m : Float(*, requires_grad=0, device=cpu)):
  %9 : int[] = aten::size(%1)
  %3 : Float(*, device=cpu) = aten::mul(%1, %m)
  %10 : int[] = aten::size(%3)
  %4 : NoneType = prim::Constant()
  %5 : bool = prim::Constant[value=0]()
  %6 : Long(requires_grad=0, device=cpu) = aten::argmax(%0, %4, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : Float(*, device=cpu) = aten::add(%3, %6, %7)
  return (%8)
# keeps %m, %9, %10
# backward, of %8 with respect to %1
graph(%0 : Float(*, device=cpu),
      %12 : Float(*, requires_grad=0, device=cpu),
      %13 : int[],
      %14 : int[]):
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %14)
  %6 : Tensor = aten::mul(%3, %12)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %13)
  %9 : (Tensor(*)) = prim::TupleConstruct(%8)
  return (%9)
