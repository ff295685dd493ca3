# run: plan
# What leaves is made after the region, and the list that is unpacked with it: neither stays inside.
def f(x, y):
  a, b = (x.sin() * y).chunk(2)
  c = torch.cat([x, y]).cos() * 2
  return a, b, c
# call: f(torch.ones(4).requires_grad_(), torch.ones(4))
# ---- expect
# f(torch.ones(4).requires_grad_(), torch.ones(4))
graph(%x : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %5 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=2]()
  %19 : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %y)
  %18 : Tensor[] = aten::chunk(%19, %4, %5)
  %a : Float(*, device=cpu), %b : Float(*, device=cpu) = prim::ListUnpack(%18)
  %c : Float(*, device=cpu) = prim::DifferentiableGraph_1(%x, %y)
  %15 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %b, %c)
  return (%15)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %1 : Float(*, device=cpu) = aten::sin(%0)
  %3 : Float(*, device=cpu) = aten::mul(%1, %y)
  return (%3)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %2 : Tensor[] = prim::ListConstruct(%0, %y)
  %3 : int = prim::Constant[value=0]()
  %4 : Float(*, device=cpu) = aten::cat(%2, %3)
  %5 : Float(*, device=cpu) = aten::cos(%4)
  %6 : int = prim::Constant[value=2]()
  %c : Float(*, device=cpu) = aten::mul(%5, %6)
  return (%c)
