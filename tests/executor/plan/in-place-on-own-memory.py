# run: plan
def f(x):
  y = x * 2
  y.add_(1)
  y.relu_()
  return y
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
graph(%x : Float(*, requires_grad=0, device=cpu)):
  %3 : int = prim::Constant[value=1]()
  %1 : int = prim::Constant[value=2]()
  %y : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %1)
  %5 : Float(*, requires_grad=0, device=cpu) = cresset::add(%y, %3, %3)
  %6 : Float(*, requires_grad=0, device=cpu) = cresset::relu(%5)
  return (%6)
