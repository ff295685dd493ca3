# run: plan
# Who gets `h` may ask for a gradient with respect to it.
def f(x):
  h = x * x + 1
  y = h.exp() * h
  return h, y
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %h : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %x)
  %y : Float(*, device=cpu) = prim::DifferentiableGraph_1(%h, %h)
  %7 : (Tensor, Tensor) = prim::TupleConstruct(%h, %y)
  return (%7)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : Float(*, device=cpu) = aten::mul(%0, %1)
  %3 : int = prim::Constant[value=1]()
  %h : Float(*, device=cpu) = aten::add(%2, %3, %3)
  return (%h)
with prim::DifferentiableGraph_1 = graph(%0 : Float(*, device=cpu),
      %1 : Float(*, device=cpu)):
  %2 : Float(*, device=cpu) = aten::exp(%1)
  %y : Float(*, device=cpu) = aten::mul(%2, %0)
  return (%y)
