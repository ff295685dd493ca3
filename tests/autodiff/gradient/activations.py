# run: gradient
def f(x):
  return torch.nn.functional.gelu(x) + torch.nn.functional.silu(x) + torch.nn.functional.leaky_relu(x, 0.1)
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu)):
  %3 : str = prim::Constant[value="none"]()
  %4 : Float(*, device=cpu) = aten::gelu(%2, %3)
  %11 : int[] = aten::size(%4)
  %5 : Float(*, device=cpu) = aten::silu(%1)
  %12 : int[] = aten::size(%5)
  %6 : int = prim::Constant[value=1]()
  %7 : Float(*, device=cpu) = aten::add(%4, %5, %6)
  %13 : int[] = aten::size(%7)
  %8 : float = prim::Constant[value=0.10000000000000001]()
  %9 : Float(*, device=cpu) = aten::leaky_relu(%0, %8)
  %14 : int[] = aten::size(%9)
  %10 : Float(*, device=cpu) = aten::add(%7, %9, %6)
  return (%10)
# keeps %0, %1, %2, %11, %12, %13, %14
# backward, of %10 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %40 : Float(*, requires_grad=1, device=cpu),
      %41 : Float(*, requires_grad=1, device=cpu),
      %42 : Float(*, requires_grad=1, device=cpu),
      %43 : int[],
      %44 : int[],
      %45 : int[],
      %46 : int[]):
  %33 : str = prim::Constant[value="none"]()
  %22 : int = prim::Constant[value=1]()
  %9 : bool = prim::Constant[value=0]()
  %8 : float = prim::Constant[value=0.10000000000000001]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %45)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %46)
  %10 : Tensor(*) = aten::leaky_relu_backward(%6, %40, %8, %9)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%3, %43)
  %16 : Tensor(*) = aten::_grad_sum_to_size(%3, %44)
  %18 : bool = aten::is_grad_enabled()
  %19 : Tensor(*) = prim::If(%18)
    block0():
      %20 : Tensor = aten::sigmoid(%41)
      %21 : Tensor = aten::mul(%16, %20)
      %23 : Tensor = aten::sigmoid(%41)
      %25 : Tensor = aten::rsub(%23, %22, %22)
      %26 : Tensor = aten::mul(%41, %25)
      %29 : Tensor = aten::add(%26, %22, %22)
      %30 : Tensor = aten::mul(%21, %29)
      -> (%30)
    block1():
      %31 : Tensor = aten::silu_backward(%16, %41)
      -> (%31)
  %34 : Tensor(*) = aten::gelu_backward(%13, %42, %33)
  %35 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%10, %19, %34)
  return (%35)
