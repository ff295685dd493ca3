# run: gradient
def f(x):
  return x.log().sin().cos().abs()
# call: f(torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : Float(*, device=cpu) = aten::log(%0)
  %2 : Float(*, device=cpu) = aten::sin(%1)
  %3 : Float(*, device=cpu) = aten::cos(%2)
  %4 : Float(*, device=cpu) = aten::abs(%3)
  return (%4)
# keeps %0, %1, %2, %3
# backward, of %4 with respect to %0
graph(%0 : Float(*, device=cpu),
      %14 : Float(*, requires_grad=1, device=cpu),
      %15 : Float(*, device=cpu),
      %16 : Float(*, device=cpu),
      %17 : Float(*, device=cpu)):
  %2 : Tensor = aten::sgn(%17)
  %3 : Tensor(*) = aten::mul(%0, %2)
  %5 : Tensor = aten::sin(%16)
  %6 : Tensor = aten::neg(%5)
  %7 : Tensor(*) = aten::mul(%3, %6)
  %9 : Tensor = aten::cos(%15)
  %10 : Tensor(*) = aten::mul(%7, %9)
  %12 : Tensor(*) = aten::div(%10, %14)
  %13 : (Tensor(*)) = prim::TupleConstruct(%12)
  return (%13)
