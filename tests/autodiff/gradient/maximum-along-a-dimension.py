# run: gradient
def f(x):
  v, i = (x * 2).max(1)
  return v * v, i
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, *, device=cpu) = aten::mul(%0, %1)
  %9 : int[] = aten::size(%2)
  %3 : int = prim::Constant[value=1]()
  %4 : bool = prim::Constant[value=0]()
  %v : Float(*, device=cpu), %i : Long(*, requires_grad=0, device=cpu) = aten::max(%2, %3, %4)
  %8 : int[] = aten::size(%v)
  %7 : Float(*, device=cpu) = aten::mul(%v, %v)
  return (%i, %7)
# keeps %v, %i, %8, %9
# backward, of %7 with respect to %0
graph(%0 : Float(*, device=cpu),
      %21 : Float(*, device=cpu),
      %22 : Long(*, requires_grad=0, device=cpu),
      %23 : int[],
      %24 : int[]):
  %16 : int = prim::Constant[value=2]()
  %13 : bool = prim::Constant[value=0]()
  %8 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::mul(%0, %21)
  %3 : int[] = aten::size(%21)
  %4 : Tensor(*) = aten::_grad_sum_to_size(%2, %3)
  %5 : Tensor = aten::mul(%0, %21)
  %6 : int[] = aten::size(%21)
  %7 : Tensor(*) = aten::_grad_sum_to_size(%5, %6)
  %9 : Float(*, device=cpu) = aten::add(%4, %7, %8)
  %15 : Tensor(*, *) = aten::value_selecting_reduction_backward(%9, %8, %22, %24, %13)
  %17 : Tensor(*, *) = aten::mul(%15, %16)
  %18 : (Tensor(*, *)) = prim::TupleConstruct(%17)
  return (%18)
