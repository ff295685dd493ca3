# run: plan
# What already is where and what it should be stays: nothing is between the operators around it.
def f(x, y):
  z = x.to(y.device).sin() * y.to(x)
  return z.to(device=x.device, dtype=x.dtype).cpu().cos()
# call: f(torch.ones(3).requires_grad_(), torch.ones(3))
# ---- expect
# f(torch.ones(3).requires_grad_(), torch.ones(3))
graph(%x : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %24 : Float(*, device=cpu) = prim::DifferentiableGraph_0(%x, %y)
  return (%24)
with prim::DifferentiableGraph_0 = graph(%0 : Float(*, requires_grad=1, device=cpu),
      %y : Float(*, requires_grad=0, device=cpu)):
  %1 : Float(*, device=cpu) = aten::sin(%0)
  %z : Float(*, device=cpu) = aten::mul(%1, %y)
  %4 : Float(*, device=cpu) = aten::cos(%z)
  return (%4)
