# run: gradient
def f(x):
  return x.cumsum(0).flip(0) * 2
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=0]()
  %2 : NoneType = prim::Constant()
  %3 : Float(*, device=cpu) = aten::cumsum(%0, %1, %2)
  %4 : int[] = prim::ListConstruct(%1)
  %5 : Float(*, device=cpu) = aten::flip(%3, %4)
  %6 : int = prim::Constant[value=2]()
  %7 : Float(*, device=cpu) = aten::mul(%5, %6)
  return (%7)
# keeps nothing
# backward, of %7 with respect to %0
graph(%0 : Float(*, device=cpu)):
  %16 : bool = prim::Constant[value=1]()
  %13 : int = prim::Constant[value=1]()
  %10 : NoneType = prim::Constant()
  %8 : bool = prim::Constant[value=0]()
  %7 : int = prim::Constant[value=6]()
  %3 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=2]()
  %2 : Tensor(*) = aten::mul(%0, %1)
  %4 : int[] = prim::ListConstruct(%3)
  %5 : Tensor(*) = aten::flip(%2, %4)
  %11 : Tensor = aten::to(%5, %7, %8, %8, %10)
  %12 : int = aten::numel(%11)
  %14 : bool = aten::le(%12, %13)
  %15 : bool = prim::If(%14)
    block0():
      -> (%16)
    block1():
      %17 : int = aten::size(%11, %3)
      %19 : bool = aten::eq(%17, %13)
      -> (%19)
  %20 : Tensor(*) = prim::If(%15)
    block0():
      -> (%11)
    block1():
      %21 : int[] = prim::ListConstruct(%3)
      %22 : Tensor = aten::flip(%11, %21)
      %24 : Tensor = aten::cumsum(%22, %3, %10)
      %25 : int[] = prim::ListConstruct(%3)
      %26 : Tensor = aten::flip(%24, %25)
      -> (%26)
  %27 : (Tensor(*)) = prim::TupleConstruct(%20)
  return (%27)
