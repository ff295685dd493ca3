# run: plan
# What is written to: the signature tells which arguments share memory.
def f(x, y):
  a = y.sum()
  x.add_(1)
  return a + y.sum()
# let: t = torch.ones(3)
# call: f(t, torch.ones(3))
# call: f(t, t)
# ---- expect
# f(t, torch.ones(3))
graph(%x : Float(*, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %4 : int = prim::Constant[value=1]()
  %2 : NoneType = prim::Constant()
  %a : Float(requires_grad=0, device=cpu) = aten::sum(%y, %2)
  %6 : Float(*, device=cpu) = aten::add_(%x, %4, %4)
  %8 : Float(requires_grad=0, device=cpu) = aten::sum(%y, %2)
  %10 : Float(requires_grad=0, device=cpu) = aten::add(%a, %8, %4)
  return (%10)
# f(t, t)
graph(%x : Float(*, device=cpu),
      %y : Float(*, device=cpu)):
  %4 : int = prim::Constant[value=1]()
  %2 : NoneType = prim::Constant()
  %a : Float(device=cpu) = aten::sum(%y, %2)
  %6 : Float(*, device=cpu) = aten::add_(%x, %4, %4)
  %11 : Float(device=cpu) = prim::DifferentiableGraph_0(%a, %y)
  return (%11)
with prim::DifferentiableGraph_0 = graph(%0 : Float(device=cpu),
      %1 : Float(*, device=cpu)):
  %2 : NoneType = prim::Constant()
  %3 : Float(device=cpu) = aten::sum(%1, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(device=cpu) = aten::add(%0, %3, %4)
  return (%5)
