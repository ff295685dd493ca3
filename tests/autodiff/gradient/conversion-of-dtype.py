# run: gradient
def f(x):
  return x.to(torch.float64) * 2 + x.half().float()
# call: f(torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : int = prim::Constant[value=7]()
  %3 : bool = prim::Constant[value=0]()
  %4 : NoneType = prim::Constant()
  %5 : Double(*, device=cpu) = aten::to(%1, %2, %3, %3, %4)
  %6 : int = prim::Constant[value=2]()
  %7 : Double(*, device=cpu) = aten::mul(%5, %6)
  %14 : int[] = aten::size(%7)
  %8 : int = prim::Constant[value=5]()
  %9 : Half(*, device=cpu) = aten::to(%0, %8, %3, %3, %4)
  %10 : int = prim::Constant[value=6]()
  %11 : Float(*, device=cpu) = aten::to(%9, %10, %3, %3, %4)
  %15 : int[] = aten::size(%11)
  %12 : int = prim::Constant[value=1]()
  %13 : Double(*, device=cpu) = aten::add(%7, %11, %12)
  return (%13)
# keeps %14, %15
# backward, of %13 with respect to %0, %1
graph(%0 : Double(*, device=cpu),
      %28 : int[],
      %29 : int[]):
  %19 : int = prim::Constant[value=2]()
  %11 : int = prim::Constant[value=5]()
  %9 : NoneType = prim::Constant()
  %8 : bool = prim::Constant[value=0]()
  %7 : int = prim::Constant[value=6]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %28)
  %6 : Tensor = aten::_grad_sum_to_size(%0, %29)
  %10 : Float(*, device=cpu) = aten::to(%6, %7, %8, %8, %9)
  %14 : Half(*, device=cpu) = aten::to(%10, %11, %8, %8, %9)
  %18 : Float(*, device=cpu) = aten::to(%14, %7, %8, %8, %9)
  %20 : Tensor(*) = aten::mul(%3, %19)
  %24 : Float(*, device=cpu) = aten::to(%20, %7, %8, %8, %9)
  %25 : (Float(*, device=cpu), Float(*, device=cpu)) = prim::TupleConstruct(%18, %24)
  return (%25)
