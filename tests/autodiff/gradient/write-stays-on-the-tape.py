# run: gradient
def f(x, y):
  a = x * 2
  y.add_(a)
  return y.exp() * a
# call: f(torch.randn(3).requires_grad_(), torch.zeros(3))
# ---- expect
# f(torch.randn(3).requires_grad_(), torch.zeros(3))
# forward
graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu)):
  %2 : Float(*, device=cpu) = aten::exp(%1)
  %3 : Float(*, device=cpu) = aten::mul(%2, %0)
  return (%3)
# keeps %0, %2
# backward, of %3 with respect to %0, %1
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
