# run: plan
def f(x):
  return torch.dropout(x * 2, 0.5, True) * x
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %10 : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %x)
  return (%10)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %4 : float = prim::Constant[value=0.5]()
  %5 : bool = prim::Constant[value=0]()
  %6 : Float(*, requires_grad=0, device=cpu) = cresset::dropout_noise(%3, %4, %5)
  %7 : Float(*, device=cpu) = aten::mul(%3, %6)
  %8 : Float(*, device=cpu) = aten::mul(%7, %0)
  return (%8)
