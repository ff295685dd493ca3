# run: compile, inline, dce
def f(x):
  with torch.no_grad():
    y = x.dim()
  return x
# ---- expect
# f
graph(%x : Tensor):
  %1 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
  %6 : bool = prim::Constant[value=0]()
   = prim::SetAttr[name="prev"](%1, %6)
  %3 : NoneType = prim::Enter[state_only="gradients"](%1)
  %5 : NoneType = prim::Exit[state_only="gradients"](%1)
  return (%x)
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
