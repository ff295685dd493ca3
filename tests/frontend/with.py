# run: compile
def f(x):
  with torch.no_grad():
    if bool(x.sum() > 1):
      return x + 1
    x = x * 2
  return x
# ---- expect
# f
graph(%x.1 : Tensor):
  %1 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%1)
  %3 : NoneType = prim::Enter(%1)
  %4 : NoneType = prim::Constant()
  %5 : Tensor = aten::sum(%x.1, %4)
  %6 : int = prim::Constant[value=1]()
  %7 : Tensor = aten::gt(%5, %6)
  %8 : bool = aten::Bool(%7)
  %x : Tensor, %18 : bool, %20 : Tensor = prim::If(%8)
    block0():
      %9 : int = prim::Constant[value=1]()
      %10 : int = prim::Constant[value=1]()
      %11 : Tensor = aten::add(%x.1, %9, %10)
      %14 : Tensor = prim::Uninitialized()
      %16 : bool = prim::Constant[value=0]()
      -> (%14, %16, %11)
    block1():
      %12 : int = prim::Constant[value=2]()
      %x.2 : Tensor = aten::mul(%x.1, %12)
      %17 : bool = prim::Constant[value=1]()
      %19 : Tensor = prim::Uninitialized()
      -> (%x.2, %17, %19)
  %21 : NoneType = prim::Exit(%1)
  %22 : Tensor = prim::If(%18)
    block0():
      -> (%x)
    block1():
      -> (%20)
  return (%22)
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
