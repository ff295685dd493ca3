# run: plan
def f(x, y):
  a = (x * 2).exp()
  y.add_(1)
  return a * y * x
# call: f(torch.ones(2).requires_grad_(), torch.ones(2))
# ---- expect
# f(torch.ones(2).requires_grad_(), torch.ones(2))
graph(%x : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, device=cpu)):
  %5 : int = prim::Constant[value=1]()
  %a : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x)
  %7 : Float(*, device=cpu) = aten::add_(%y, %5, %5)
  %11 : Float(*, device=cpu) = prim::DifferentiableGraph_1(%x, %a, %y)
  return (%11)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %a : Float(*, device=cpu) = aten::exp(%2)
  return (%a)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, device=cpu),
      %2 : Float(*, device=cpu)):
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %4 : Float(*, device=cpu) = aten::mul(%3, %0)
  return (%4)
