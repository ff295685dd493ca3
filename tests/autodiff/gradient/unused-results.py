# run: gradient
def f(x):
  a, b, c = (x * 2).split(1)
  return b * 3
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=0]()
  %5 : Tensor[] = aten::split(%2, %3, %4)
  %a : Float(*, device=cpu), %b : Float(*, device=cpu), %c : Float(*, device=cpu) = prim::ListUnpack(%5)
  %13 : int[] = aten::size(%c)
  %12 : int[] = aten::size(%b)
  %11 : int[] = aten::size(%a)
  %9 : int = prim::Constant[value=3]()
  %10 : Float(*, device=cpu) = aten::mul(%b, %9)
  return (%10)
# keeps %11, %12, %13
# backward, of %10 with respect to %0
graph(%0 : Float(*, device=cpu),
      %16 : int[],
      %17 : int[],
      %18 : int[]):
  %12 : int = prim::Constant[value=2]()
  %10 : int = prim::Constant[value=0]()
  %4 : NoneType = prim::Constant()
  %1 : int = prim::Constant[value=3]()
  %2 : Tensor(*) = aten::mul(%0, %1)
  %5 : Float(*, device=cpu) = aten::new_zeros(%2, %16, %4, %4, %4, %4)
  %8 : Float(*, device=cpu) = aten::new_zeros(%2, %18, %4, %4, %4, %4)
  %9 : Tensor[] = prim::ListConstruct(%5, %2, %8)
  %11 : Tensor(*) = aten::cat(%9, %10)
  %13 : Tensor(*) = aten::mul(%11, %12)
  %14 : (Tensor(*)) = prim::TupleConstruct(%13)
  return (%14)
