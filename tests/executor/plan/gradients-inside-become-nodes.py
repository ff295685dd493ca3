# run: plan
def f(x):
  y = (x * x * x).sum()
  g = torch.autograd.grad([y], [x], create_graph=True)[0]
  assert g is not None
  return g * x
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %44 : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %x, %x, %x, %x, %x, %x, %x)
  return (%44)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu),
      %3 : Float(*, requires_grad=1, device=cpu),
      %4 : Float(*, requires_grad=1, device=cpu),
      %5 : Float(*, requires_grad=1, device=cpu),
      %6 : Float(*, requires_grad=1, device=cpu),
      %7 : Float(*, requires_grad=1, device=cpu)):
  %8 : Float(*, device=cpu) = aten::mul(%6, %7)
  %9 : Float(*, device=cpu) = aten::mul(%8, %5)
  %10 : NoneType = prim::Constant()
  %y : Float(device=cpu) = aten::sum(%9, %10)
  %12 : Float(requires_grad=0, device=cpu) = aten::ones_like(%y, %10, %10, %10, %10, %10)
  %13 : int[] = aten::size(%9)
  %14 : bool = prim::Constant[value=0]()
  %15 : Float(*, requires_grad=0, device=cpu) = aten::expand(%12, %13, %14)
  %16 : Float(*, device=cpu) = aten::mul(%15, %4)
  %17 : int[] = aten::size(%8)
  %18 : Float(*, device=cpu) = aten::_grad_sum_to_size(%16, %17)
  %19 : Float(*, device=cpu) = aten::mul(%15, %8)
  %20 : int[] = aten::size(%3)
  %21 : Float(*, device=cpu) = aten::_grad_sum_to_size(%19, %20)
  %22 : Float(*, device=cpu) = aten::mul(%18, %2)
  %23 : Float(*, device=cpu) = aten::_grad_sum_to_size(%22, %20)
  %24 : int = prim::Constant[value=1]()
  %25 : Float(*, device=cpu) = aten::add(%21, %23, %24)
  %26 : Float(*, device=cpu) = aten::mul(%18, %1)
  %27 : Float(*, device=cpu) = aten::_grad_sum_to_size(%26, %20)
  %28 : Float(*, device=cpu) = aten::add(%25, %27, %24)
  %29 : Float(*, device=cpu) = aten::mul(%28, %0)
  return (%29)
