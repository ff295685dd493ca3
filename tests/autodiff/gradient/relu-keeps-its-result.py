# run: gradient
def f(x, w):
  return torch.relu(torch.relu(x) * w)
# call: f(torch.randn(2).requires_grad_(), torch.randn(2))
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2))
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %w : Float(*, requires_grad=0, device=cpu)):
  %1 : Float(*, device=cpu) = aten::relu(%0)
  %3 : Float(*, device=cpu) = aten::mul(%1, %w)
  %4 : Float(*, device=cpu) = aten::relu(%3)
  return (%4)
# keeps %1, %w, %4
# backward, of %4 with respect to %0
graph(%0 : Float(*, device=cpu),
      %12 : Float(*, device=cpu),
      %13 : Float(*, requires_grad=0, device=cpu),
      %14 : Float(*, device=cpu)):
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor(*) = aten::threshold_backward(%0, %14, %2)
  %6 : Tensor = aten::mul(%3, %13)
  %7 : int[] = aten::size(%12)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %10 : Tensor(*) = aten::threshold_backward(%8, %12, %2)
  %11 : (Tensor(*)) = prim::TupleConstruct(%10)
  return (%11)
