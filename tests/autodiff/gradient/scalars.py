# run: gradient
# Of what is multiplied by a number, nothing is kept but the number.
def f(x, n: int, v: float):
  return (x * n + v) / v - n
# call: f(torch.randn(2).requires_grad_(), 2, 0.5)
# ---- expect
# f(torch.randn(2).requires_grad_(), 2, 0.5)
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %n : int,
      %v : float):
  %2 : Float(*, device=cpu) = aten::mul(%0, %n)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(*, device=cpu) = aten::add(%2, %v, %4)
  %6 : Float(*, device=cpu) = aten::div(%5, %v)
  %7 : Float(*, device=cpu) = aten::sub(%6, %n, %4)
  return (%7)
# keeps %n, %v
# backward, of %7 with respect to %0
graph(%0 : Float(*, device=cpu),
      %6 : int,
      %7 : float):
  %2 : Tensor(*) = aten::div(%0, %7)
  %4 : Tensor(*) = aten::mul(%2, %6)
  %5 : (Tensor(*)) = prim::TupleConstruct(%4)
  return (%5)
