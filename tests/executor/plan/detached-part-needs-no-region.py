# run: plan
def f(x):
  d = x.detach()
  y = d.exp() * d + 1
  return y * 2
# call: f(torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2).requires_grad_())
graph(%x : Float(*, requires_grad=1, device=cpu)):
  %7 : int = prim::Constant[value=2]()
  %4 : int = prim::Constant[value=1]()
  %d : Float(*, requires_grad=0, device=cpu) = aten::detach(%x)
  %2 : Float(*, requires_grad=0, device=cpu) = aten::exp(%d)
  %3 : Float(*, requires_grad=0, device=cpu) = aten::mul(%2, %d)
  %y : Float(*, requires_grad=0, device=cpu) = aten::add(%3, %4, %4)
  %8 : Float(*, requires_grad=0, device=cpu) = aten::mul(%y, %7)
  return (%8)
