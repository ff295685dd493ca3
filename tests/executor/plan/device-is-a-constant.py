# run: plan
def f(x, to: Device):
  y = torch.ones(2, device=to)
  if y.device == x.device:
    y = y + x
  return y
# call: f(torch.ones(2), torch.device("cpu"))
# ---- expect
# f(torch.ones(2), torch.device("cpu"))
graph(%x : Float(*, requires_grad=0, device=cpu),
      %to : Device):
  %11 : int = prim::Constant[value=1]()
  %4 : NoneType = prim::Constant()
  %14 : Device = prim::Constant[value="cpu"]()
  %2 : int = prim::Constant[value=2]()
  %3 : int[] = prim::ListConstruct(%2)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::ones(%3, %4, %4, %14, %4)
  %y.2 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %x, %11)
  return (%y.2)
