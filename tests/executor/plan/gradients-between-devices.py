# run: plan
# The gradient of what goes to another device comes back from there: that stays autograd's.
def f(x):
  z = (x * 2).sin()
  w = z.to(dtype=torch.float32, layout=torch.strided, device="meta", pin_memory=False)
  return (w * 2).cos(), w.type_as(x)
# call: f(torch.ones(3).requires_grad_())
# ---- expect
# f(torch.ones(3).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %11 : NoneType = prim::Constant()
  %18 : Device = prim::Constant[value="meta"]()
  %7 : bool = prim::Constant[value=0]()
  %5 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=6]()
  %z : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x)
  %w : Float(*, device=meta) = aten::to(%z, %4, %5, %18, %7, %7, %7, %11)
  %20 : Float(*, device=meta) = prim::DifferentiableGraph_1(%w)
  %16 : Float(*, device=cpu) = aten::type_as(%w, %x)
  %17 : (Tensor, Tensor) = prim::TupleConstruct(%20, %16)
  return (%17)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %z : Float(*, device=cpu) = aten::sin(%2)
  return (%z)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, device=meta)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(*, device=meta) = aten::mul(%0, %1)
  %3 : Float(*, device=meta) = aten::cos(%2)
  return (%3)
