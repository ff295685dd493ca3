# run: gradient
# exp, tanh, sigmoid and sqrt need their result, not what they were computed from.
def f(x):
  return x.exp().tanh().sigmoid().sqrt()
# call: f(torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : Float(*, device=cpu) = aten::exp(%0)
  %2 : Float(*, device=cpu) = aten::tanh(%1)
  %3 : Float(*, device=cpu) = aten::sigmoid(%2)
  %4 : Float(*, device=cpu) = aten::sqrt(%3)
  return (%4)
# keeps %1, %2, %3, %4
# backward, of %4 with respect to %0
graph(%0 : Float(*, device=cpu),
      %12 : Float(*, device=cpu),
      %13 : Float(*, device=cpu),
      %14 : Float(*, device=cpu),
      %15 : Float(*, device=cpu)):
  %2 : int = prim::Constant[value=2]()
  %3 : Tensor = aten::mul(%15, %2)
  %4 : Tensor(*) = aten::div(%0, %3)
  %6 : Tensor(*) = aten::sigmoid_backward(%4, %14)
  %8 : Tensor(*) = aten::tanh_backward(%6, %13)
  %10 : Tensor(*) = aten::mul(%8, %12)
  %11 : (Tensor(*)) = prim::TupleConstruct(%10)
  return (%11)
