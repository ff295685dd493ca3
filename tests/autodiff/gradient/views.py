# run: gradient
# Views keep sizes.
def f(x):
  return (x.t().unsqueeze(0).transpose(1, 2) * 2).squeeze(0).permute(1, 0)
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu)):
  %1 : Float(*, *, device=cpu) = aten::t(%0)
  %2 : int = prim::Constant[value=0]()
  %3 : Float(*, *, *, device=cpu) = aten::unsqueeze(%1, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=2]()
  %6 : Float(*, *, *, device=cpu) = aten::transpose(%3, %4, %5)
  %7 : Float(*, *, *, device=cpu) = aten::mul(%6, %5)
  %8 : int[] = prim::ListConstruct(%4, %2)
  return (%7, %8)
# keeps nothing
# backward, of %7 with respect to %0
graph(%0 : Float(*, *, *, device=cpu)):
  %6 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %2 : Tensor(*, *, *) = aten::mul(%0, %1)
  %5 : Tensor(*, *, *) = aten::transpose(%2, %3, %1)
  %7 : Tensor(*, *) = aten::squeeze(%5, %6)
  %8 : Tensor(*, *) = aten::t(%7)
  %9 : (Tensor(*, *)) = prim::TupleConstruct(%8)
  return (%9)
