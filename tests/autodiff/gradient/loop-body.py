# run: gradient
def f(x, n: int):
  h = x
  for i in range(n):
    h = torch.tanh(h * x + i)
  return h
# call: f(torch.randn(3).requires_grad_(), 3)
# ---- expect
# f(torch.randn(3).requires_grad_(), 3)
# forward
graph(%0 : Float(*, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %i : int):
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(*, device=cpu) = aten::add(%2, %i, %4)
  %h.2 : Float(*, device=cpu) = aten::tanh(%5)
  return (%h.2)
# keeps %0, %1, %h.2
# backward, of %h.2 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %12 : Float(*, device=cpu),
      %13 : Float(*, requires_grad=1, device=cpu),
      %14 : Float(*, device=cpu)):
  %2 : Tensor(*) = aten::tanh_backward(%0, %14)
  %5 : Tensor = aten::mul(%2, %13)
  %6 : int[] = aten::size(%12)
  %7 : Tensor(*) = aten::_grad_sum_to_size(%5, %6)
  %8 : Tensor = aten::mul(%2, %12)
  %9 : int[] = aten::size(%13)
  %10 : Tensor(*) = aten::_grad_sum_to_size(%8, %9)
  %11 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%7, %10)
  return (%11)
