# run: gradient
def f(x, n: int):
  return (x ** 2) + (x ** n) * (x ** 0.5)
# call: f(torch.randn(2).requires_grad_(), 3)
# ---- expect
# f(torch.randn(2).requires_grad_(), 3)
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu),
      %n : int):
  %3 : int = prim::Constant[value=2]()
  %4 : Float(*, device=cpu) = aten::pow(%2, %3)
  %12 : int[] = aten::size(%4)
  %6 : Float(*, device=cpu) = aten::pow(%1, %n)
  %7 : float = prim::Constant[value=0.5]()
  %8 : Float(*, device=cpu) = aten::pow(%0, %7)
  %9 : Float(*, device=cpu) = aten::mul(%6, %8)
  %13 : int[] = aten::size(%9)
  %10 : int = prim::Constant[value=1]()
  %11 : Float(*, device=cpu) = aten::add(%4, %9, %10)
  return (%11)
# keeps %0, %1, %2, %n, %6, %8, %12, %13
# backward, of %11 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %46 : Float(*, requires_grad=1, device=cpu),
      %47 : Float(*, requires_grad=1, device=cpu),
      %48 : Float(*, requires_grad=1, device=cpu),
      %49 : int,
      %50 : Float(*, device=cpu),
      %51 : Float(*, device=cpu),
      %52 : int[],
      %53 : int[]):
  %38 : int = prim::Constant[value=2]()
  %32 : int = prim::Constant[value=1]()
  %26 : NoneType = prim::Constant()
  %23 : int = prim::Constant[value=0]()
  %17 : float = prim::Constant[value=-0.5]()
  %16 : float = prim::Constant[value=0.5]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %52)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %53)
  %9 : Tensor = aten::mul(%6, %51)
  %10 : int[] = aten::size(%50)
  %11 : Tensor(*) = aten::_grad_sum_to_size(%9, %10)
  %12 : Tensor = aten::mul(%6, %50)
  %13 : int[] = aten::size(%51)
  %14 : Tensor(*) = aten::_grad_sum_to_size(%12, %13)
  %18 : Tensor = aten::pow(%46, %17)
  %19 : Tensor = aten::mul(%18, %16)
  %20 : Tensor(*) = aten::mul(%14, %19)
  %24 : bool = aten::eq(%49, %23)
  %25 : Tensor(*) = prim::If(%24)
    block0():
      %31 : Tensor = aten::zeros_like(%47, %26, %26, %26, %26, %26)
      -> (%31)
    block1():
      %33 : Scalar = aten::sub(%49, %32)
      %34 : Tensor = aten::pow(%47, %33)
      %35 : Tensor = aten::mul(%34, %49)
      %36 : Tensor = aten::mul(%11, %35)
      -> (%36)
  %40 : Tensor = aten::pow(%48, %32)
  %41 : Tensor = aten::mul(%40, %38)
  %42 : Tensor(*) = aten::mul(%3, %41)
  %43 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%20, %25, %42)
  return (%43)
