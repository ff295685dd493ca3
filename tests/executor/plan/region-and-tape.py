# run: plan
def f(x, w):
  h = torch.tanh(x @ w) * x
  i = h.argmax()
  print(h.dim())
  return h.exp() * 2, i
# call: f(torch.ones(2, 2), torch.ones(2, 2).requires_grad_())
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2).requires_grad_())
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=1, device=cpu)):
  %14 : int = prim::Constant[value=2]()
  %6 : bool = prim::Constant[value=0]()
  %5 : NoneType = prim::Constant()
  %h : Float(*, *, device=cpu) = prim::DifferentiableGraph_0(%w, %x)
  %i : Long(requires_grad=0, device=cpu) = aten::argmax(%h, %5, %6)
   = prim::Print(%14)
  %16 : Float(*, *, device=cpu) = prim::DifferentiableGraph_1(%h)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%16, %i)
  return (%13)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %x : Float(*, *, requires_grad=0, device=cpu)):
  %2 : Float(*, *, device=cpu) = aten::matmul(%x, %0)
  %3 : Float(*, *, device=cpu) = aten::tanh(%2)
  %h : Float(*, *, device=cpu) = aten::mul(%3, %x)
  return (%h)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, *, device=cpu)):
  %1 : Float(*, *, device=cpu) = aten::exp(%0)
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, *, device=cpu) = aten::mul(%1, %2)
  return (%3)
# f(torch.ones(2, 2), torch.ones(2, 2))
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=0, device=cpu)):
  %14 : int = prim::Constant[value=2]()
  %6 : bool = prim::Constant[value=0]()
  %5 : NoneType = prim::Constant()
  %2 : Float(*, *, requires_grad=0, device=cpu) = aten::matmul(%x, %w)
  %3 : Float(*, *, requires_grad=0, device=cpu) = aten::tanh(%2)
  %h : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%3, %x)
  %i : Long(requires_grad=0, device=cpu) = aten::argmax(%h, %5, %6)
   = prim::Print(%14)
  %10 : Float(*, *, requires_grad=0, device=cpu) = aten::exp(%h)
  %12 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%10, %14)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%12, %i)
  return (%13)
