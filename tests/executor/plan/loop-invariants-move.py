# run: plan
def f(x, n: int):
  t = torch.zeros_like(x)
  for i in range(n):
    t = t + (n * n + i)
  return t
# call: f(torch.ones(2), 3)
# ---- expect
# f(torch.ones(2), 3)
graph(%x : Float(*, requires_grad=0, device=cpu),
      %n : int):
  %13 : int = prim::Constant[value=1]()
  %8 : bool = prim::Constant[value=1]()
  %2 : NoneType = prim::Constant()
  %t.1 : Float(*, requires_grad=0, device=cpu) = aten::zeros_like(%x, %2, %2, %2, %2, %2)
  %11 : int = aten::mul(%n, %n)
  %t : Float(*, requires_grad=0, device=cpu) = prim::Loop(%n, %8, %t.1)
    block0(%i : int, %t.2 : Float(*, requires_grad=0, device=cpu)):
      %12 : int = aten::add(%11, %i)
      %t.3 : Float(*, requires_grad=0, device=cpu) = aten::add(%t.2, %12, %13)
      -> (%8, %t.3)
  return (%t)
