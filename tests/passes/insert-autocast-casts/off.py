# run: plan --no-grad
# Autocast is off: nothing is cast.
def f(x, w):
  return torch.mm(x, w) * 2
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2))
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=0, device=cpu)):
  %3 : int = prim::Constant[value=2]()
  %2 : Float(*, *, requires_grad=0, device=cpu) = aten::mm(%x, %w)
  %4 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%2, %3)
  return (%4)
