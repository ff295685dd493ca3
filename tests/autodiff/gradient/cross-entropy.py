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
  %14 : str = prim::Constant[value="Expected input batch_size ("]()
  %16 : str = prim::Constant[value=") to match target batch_size ("]()
  %21 : str = prim::Constant[value=")."]()
  %22 : str = prim::Constant[value="builtins.ValueError"]()
   = prim::If(%10)
    block0():
      %11 : int = aten::size(%5, %6)
      %12 : str = aten::str(%11)
      %13 : str = aten::add(%14, %12)
      %15 : str = aten::add(%13, %16)
      %17 : int = aten::size(%t, %6)
      %18 : str = aten::str(%17)
      %19 : str = aten::add(%15, %18)
      %20 : str = aten::add(%19, %21)
       = prim::RaiseException(%20, %22)
      -> ()
    block1():
      -> ()
  %23 : NoneType = prim::Constant()
  %24 : int = prim::Constant[value=-100]()
  %25 : Float(device=cpu), %26 : Float(requires_grad=0, device=cpu) = aten::nll_loss_forward(%5, %t, %23, %3, %24)
  %27 : int[] = aten::size(%25)
  return (%25)
# keeps %5, %t, %26, %27
# backward, of %25 with respect to %0
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
