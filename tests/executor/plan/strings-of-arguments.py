# run: plan
def f(x, mode: str):
  if mode == "sum":
    return x.sum()
  return x.mean()
# call: f(torch.ones(2), "sum")
# ---- expect
# f(torch.ones(2), "sum")
graph(%x : Float(*, requires_grad=0, device=cpu),
      %mode : str):
  %4 : NoneType = prim::Constant()
  %2 : str = prim::Constant[value="sum"]()
  %3 : bool = aten::eq(%mode, %2)
  %8 : Float(requires_grad=0, device=cpu) = prim::If(%3)
    block0():
      %5 : Float(requires_grad=0, device=cpu) = aten::sum(%x, %4)
      -> (%5)
    block1():
      %7 : Float(requires_grad=0, device=cpu) = aten::mean(%x, %4)
      -> (%7)
  return (%8)
