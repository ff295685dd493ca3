# run: gradient
def f(x, t):
  return torch.cross_entropy_loss(x * 2, t)
# call: f(torch.randn(2, 3).requires_grad_(), torch.tensor([2, 0]))
# ---- expect
# f(torch.randn(2, 3).requires_grad_(), torch.tensor([2, 0]))
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %t : Long(*, requires_grad=0, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, *, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=6]()
  %5 : Float(*, *, device=cpu) = aten::log_softmax(%2, %3, %4)
  %6 : int = prim::Constant[value=0]()
  %7 : int = aten::size(%5, %6)
  %9 : int = aten::size(%t, %6)
  %10 : bool = aten::ne(%7, %9)
  %13 : str = prim::Constant[value="Expected input batch_size ("]()
  %15 : str = prim::Constant[value=") to match target batch_size ("]()
  %19 : str = prim::Constant[value=")."]()
  %20 : str = prim::Constant[value="builtins.ValueError"]()
   = prim::If(%10)
    block0():
      %11 : str = aten::str(%7)
      %12 : str = aten::add(%13, %11)
      %14 : str = aten::add(%12, %15)
      %16 : str = aten::str(%9)
      %17 : str = aten::add(%14, %16)
      %18 : str = aten::add(%17, %19)
       = prim::RaiseException(%18, %20)
      -> ()
    block1():
      -> ()
  %21 : NoneType = prim::Constant()
  %22 : int = prim::Constant[value=-100]()
  %23 : Float(device=cpu), %24 : Float(requires_grad=0, device=cpu) = aten::nll_loss_forward(%5, %t, %21, %3, %22)
  %25 : int[] = aten::size(%23)
  return (%23)
# keeps %5, %t, %24, %25
# backward, of %23 with respect to %0
graph(%0 : Float(device=cpu),
      %15 : Float(*, *, device=cpu),
      %16 : Long(*, requires_grad=0, device=cpu),
      %17 : Float(requires_grad=0, device=cpu),
      %18 : int[]):
  %11 : int = prim::Constant[value=2]()
  %9 : int = prim::Constant[value=6]()
  %4 : NoneType = prim::Constant()
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=-100]()
  %7 : Tensor(*, *) = aten::nll_loss_backward(%0, %15, %16, %4, %5, %6, %17)
  %10 : Tensor(*, *) = aten::_log_softmax_backward_data(%7, %15, %5, %9)
  %12 : Tensor(*, *) = aten::mul(%10, %11)
  %13 : (Tensor(*, *)) = prim::TupleConstruct(%12)
  return (%13)
