# run: plan --autocast --no-grad
# In a program's own block operators cast as they run.
def f(x, w):
  with torch.autocast("cpu", enabled=False):
    y = torch.mm(x, w)
  return torch.mm(y, w)
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2))
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=0, device=cpu)):
  %5 : NoneType = prim::Constant()
  %2 : str = prim::Constant[value="cpu"]()
  %3 : bool = prim::Constant[value=0]()
  %4 : __torch__.torch.amp.autocast_mode.autocast = prim::CreateObject()
   = prim::SetAttr[name="device"](%4, %2)
   = prim::SetAttr[name="enabled"](%4, %3)
   = prim::SetAttr[name="dtype"](%4, %5)
   = prim::SetAttr[name="cache_enabled"](%4, %5)
  %12 : int[] = prim::ListConstruct()
   = prim::SetAttr[name="previous"](%4, %12)
  %8 : NoneType = prim::Enter[state_only="any"](%4)
  %y : Tensor(requires_grad=0) = aten::mm(%x, %w)
  %10 : NoneType = prim::Exit[state_only="any"](%4)
  %11 : Tensor(requires_grad=0) = aten::mm(%y, %w)
  return (%11)
