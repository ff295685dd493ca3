# run: gradient
def f(x, y):
  return torch.nn.functional.mse_loss(x * 2, y)
# call: f(torch.randn(3).requires_grad_(), torch.randn(3))
# ---- expect
# f(torch.randn(3).requires_grad_(), torch.randn(3))
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(device=cpu) = aten::mse_loss(%2, %y, %4)
  return (%5)
# keeps %2, %y
# backward, of %5 with respect to %0
graph(%0 : Float(device=cpu),
      %10 : Float(*, device=cpu),
      %11 : Float(*, requires_grad=0, device=cpu)):
  %7 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::mse_loss_backward(%0, %10, %11, %3)
  %5 : int[] = aten::size(%10)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%4, %5)
  %8 : Tensor(*) = aten::mul(%6, %7)
  %9 : (Tensor(*)) = prim::TupleConstruct(%8)
  return (%9)
