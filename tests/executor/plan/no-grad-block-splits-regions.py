# run: plan
def f(x):
  a = x * x + 1
  with torch.no_grad():
    b = a * a + 1
  return a * b + b
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %16 : bool = prim::Constant[value=0]()
  %a : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %x)
  %5 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
   = prim::SetAttr[name="prev"](%5, %16)
  %7 : NoneType = prim::Enter[state_only="gradients"](%5)
  %b : Float(*, device=cpu) = prim::DifferentiableGraph_1(%a, %a)
  %12 : NoneType = prim::Exit[state_only="gradients"](%5)
  %20 : Float(*, device=cpu) = prim::DifferentiableGraph_2(%b, %a, %b)
  return (%20)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %a : Float(*, device=cpu) = aten::add(%2, %3, %3)
  return (%a)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu)):
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %b : Float(*, device=cpu) = aten::add(%2, %3, %3)
  return (%b)
with prim::DifferentiableGraph_2 = graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu),
      %2 : Float(*, device=cpu)):
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : Float(*, device=cpu) = aten::add(%3, %0, %4)
  return (%5)
