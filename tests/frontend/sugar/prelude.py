# run: compile
def f(x: Tensor):
    with torch.no_grad():
        y = torch.nn.functional.relu(x, inplace=True)
    return y
# ---- expect
# f
graph(%x : Tensor):
  %1 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%1)
  %3 : NoneType = prim::Enter(%1)
  %4 : bool = prim::Constant[value=1]()
  %5 : Function = prim::Constant[name="relu"]()
  %y : Tensor = prim::CallFunction(%5, %x, %4)
  %7 : NoneType = prim::Exit(%1)
  return (%y)
# __torch__.torch.autograd.grad_mode.no_grad.__init__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad):
  %1 : bool = prim::Constant[value=0]()
   = prim::SetAttr[name="prev"](%self, %1)
  %2 : NoneType = prim::Constant()
  return (%2)
# __torch__.torch.autograd.grad_mode.no_grad.__enter__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad):
  %1 : bool = aten::is_grad_enabled()
   = prim::SetAttr[name="prev"](%self, %1)
  %2 : bool = prim::Constant[value=0]()
   = aten::set_grad_enabled(%2)
  %4 : NoneType = prim::Constant()
  return (%4)
# __torch__.torch.autograd.grad_mode.no_grad.__exit__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad,
      %exc_type : Any,
      %exc_value : Any,
      %traceback : Any):
  %4 : bool = prim::GetAttr[name="prev"](%self)
   = aten::set_grad_enabled(%4)
  %6 : NoneType = prim::Constant()
  return (%6)
# __torch__.torch.nn.functional.relu
graph(%input : Tensor,
      %inplace : bool):
  %4 : Tensor = prim::If(%inplace)
    block0():
      %2 : Tensor = aten::relu_(%input)
      -> (%2)
    block1():
      %3 : Tensor = aten::relu(%input)
      -> (%3)
  return (%4)
