# run: compile, inline, propagate-types, cse
def f(n: int):
    a = torch.ones([n, n])
    b = (a @ a).sum()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = (a @ a).sum() + (a @ a).sum()
    with torch.no_grad():
        d = (a @ a).sum()
    return b, c, d, (a @ a).sum()
# ---- expect
# f
graph(%n : int):
  %1 : int[] = prim::ListConstruct(%n, %n)
  %2 : NoneType = prim::Constant()
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %a : Float(*, *, requires_grad=0, device=cpu) = aten::ones(%1, %2, %3, %4, %5)
  %7 : Float(*, *, requires_grad=0, device=cpu) = aten::matmul(%a, %a)
  %8 : NoneType = prim::Constant()
  %b : Float(requires_grad=0, device=cpu) = aten::sum(%7, %8)
  %10 : str = prim::Constant[value="cpu"]()
  %11 : int = prim::Constant[value=15]()
  %12 : __torch__.torch.amp.autocast_mode.autocast = prim::CreateObject()
  %13 : bool = prim::Constant[value=1]()
  %14 : NoneType = prim::Constant()
   = prim::SetAttr[name="device"](%12, %10)
   = prim::SetAttr[name="enabled"](%12, %13)
   = prim::SetAttr[name="dtype"](%12, %11)
   = prim::SetAttr[name="cache_enabled"](%12, %14)
  %37 : int[] = prim::ListConstruct()
   = prim::SetAttr[name="previous"](%12, %37)
  %38 : NoneType = prim::Constant()
  %16 : NoneType = prim::Enter[state_only="any"](%12)
  %17 : Tensor(requires_grad=0) = aten::matmul(%a, %a)
  %18 : NoneType = prim::Constant()
  %19 : Tensor(requires_grad=0) = aten::sum(%17, %18)
  %21 : NoneType = prim::Constant()
  %22 : Tensor(requires_grad=0) = aten::sum(%17, %21)
  %23 : int = prim::Constant[value=1]()
  %c : Tensor(requires_grad=0) = aten::add(%19, %22, %23)
  %25 : NoneType = prim::Exit[state_only="any"](%12)
  %26 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
  %39 : bool = prim::Constant[value=0]()
   = prim::SetAttr[name="prev"](%26, %39)
  %40 : NoneType = prim::Constant()
  %28 : NoneType = prim::Enter[state_only="gradients"](%26)
  %29 : Tensor(requires_grad=0) = aten::matmul(%a, %a)
  %30 : NoneType = prim::Constant()
  %d : Tensor(requires_grad=0) = aten::sum(%29, %30)
  %32 : NoneType = prim::Exit[state_only="gradients"](%26)
  %34 : NoneType = prim::Constant()
  %35 : Float(requires_grad=0, device=cpu) = aten::sum(%7, %34)
  %36 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%b, %c, %d, %35)
  return (%36)
# __torch__.torch.amp.autocast_mode.autocast.__init__
graph(%self : __torch__.torch.amp.autocast_mode.autocast,
      %device_type : str,
      %dtype : int?,
      %enabled : bool,
      %cache_enabled : bool?):
   = prim::SetAttr[name="device"](%self, %device_type)
   = prim::SetAttr[name="enabled"](%self, %enabled)
   = prim::SetAttr[name="dtype"](%self, %dtype)
   = prim::SetAttr[name="cache_enabled"](%self, %cache_enabled)
  %5 : int[] = prim::ListConstruct()
   = prim::SetAttr[name="previous"](%self, %5)
  %6 : NoneType = prim::Constant()
  return (%6)
# __torch__.torch.amp.autocast_mode.autocast.__enter__
graph(%self : __torch__.torch.amp.autocast_mode.autocast):
  %1 : str = prim::GetAttr[name="device"](%self)
  %2 : int? = prim::GetAttr[name="dtype"](%self)
  %3 : bool = prim::GetAttr[name="enabled"](%self)
  %4 : bool? = prim::GetAttr[name="cache_enabled"](%self)
  %5 : int[] = cresset::enter_autocast(%1, %2, %3, %4)
   = prim::SetAttr[name="previous"](%self, %5)
  %6 : NoneType = prim::Constant()
  return (%6)
# __torch__.torch.amp.autocast_mode.autocast.__exit__
graph(%self : __torch__.torch.amp.autocast_mode.autocast,
      %exc_type : Any,
      %exc_value : Any,
      %traceback : Any):
  %4 : str = prim::GetAttr[name="device"](%self)
  %5 : int[] = prim::GetAttr[name="previous"](%self)
   = cresset::exit_autocast(%4, %5)
  %7 : NoneType = prim::Constant()
  return (%7)
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
