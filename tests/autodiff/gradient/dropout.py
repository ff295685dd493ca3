# run: gradient
# The noise is kept, not what it was drawn for.
def f(x):
  return torch.dropout(x * 2, 0.25, True) * 3
# call: f(torch.randn(4).requires_grad_())
# ---- expect
# f(torch.randn(4).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %9 : int[] = aten::size(%2)
  %3 : float = prim::Constant[value=0.25]()
  %4 : bool = prim::Constant[value=0]()
  %5 : Float(*, requires_grad=0, device=cpu) = cresset::dropout_noise(%2, %3, %4)
  %6 : Float(*, device=cpu) = aten::mul(%2, %5)
  %7 : int = prim::Constant[value=3]()
  %8 : Float(*, device=cpu) = aten::mul(%6, %7)
  return (%8)
# keeps %5, %9
# backward, of %8 with respect to %0
graph(%0 : Float(*, device=cpu),
      %12 : Float(*, requires_grad=0, device=cpu),
      %13 : int[]):
  %8 : int = prim::Constant[value=2]()
  %1 : int = prim::Constant[value=3]()
  %2 : Tensor(*) = aten::mul(%0, %1)
  %5 : Tensor = aten::mul(%2, %12)
  %7 : Tensor(*) = aten::_grad_sum_to_size(%5, %13)
  %9 : Tensor(*) = aten::mul(%7, %8)
  %10 : (Tensor(*)) = prim::TupleConstruct(%9)
  return (%10)
