# run: compile, inline, propagate-types, pool-constants, licm
def f(x: Tensor, n: int):
    a = torch.ones([n, n])
    s = 0.0
    for i in range(3):
        s = s + float((a * 3).sum())
        with torch.no_grad():
            s = s + float((a * 2).sum())
    return s
# ---- expect
# f
graph(%x : Tensor,
      %n : int):
  %22 : int = prim::Constant[value=2]()
  %30 : bool = prim::Constant[value=0]()
  %10 : bool = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=3]()
  %s.1 : float = prim::Constant[value=0.]()
  %3 : NoneType = prim::Constant()
  %2 : int[] = prim::ListConstruct(%n, %n)
  %a : Float(*, *, requires_grad=0, device=cpu) = aten::ones(%2, %3, %3, %3, %3)
  %14 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%a, %9)
  %16 : Float(requires_grad=0, device=cpu) = aten::sum(%14, %3)
  %17 : float = aten::Float(%16)
  %s : float = prim::Loop(%9, %10, %s.1)
    block0(%i : int, %s.2 : float):
      %s.3 : float = aten::add(%s.2, %17)
      %19 : __torch__.torch.autograd.grad_mode.no_grad = prim::CreateObject()
       = prim::SetAttr[name="prev"](%19, %30)
      %21 : NoneType = prim::Enter[state_only="gradients"](%19)
      %23 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%a, %22)
      %25 : Float(requires_grad=0, device=cpu) = aten::sum(%23, %3)
      %26 : float = aten::Float(%25)
      %s.4 : float = aten::add(%s.3, %26)
      %28 : NoneType = prim::Exit[state_only="gradients"](%19)
      -> (%10, %s.4)
  return (%s)
# __torch__.torch.autograd.grad_mode.no_grad.__init__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad):
  %2 : NoneType = prim::Constant()
  %1 : bool = prim::Constant[value=0]()
   = prim::SetAttr[name="prev"](%self, %1)
  return (%2)
# __torch__.torch.autograd.grad_mode.no_grad.__enter__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad):
  %4 : NoneType = prim::Constant()
  %2 : bool = prim::Constant[value=0]()
  %1 : bool = aten::is_grad_enabled()
   = prim::SetAttr[name="prev"](%self, %1)
   = aten::set_grad_enabled(%2)
  return (%4)
# __torch__.torch.autograd.grad_mode.no_grad.__exit__
graph(%self : __torch__.torch.autograd.grad_mode.no_grad,
      %exc_type : Any,
      %exc_value : Any,
      %traceback : Any):
  %6 : NoneType = prim::Constant()
  %4 : bool = prim::GetAttr[name="prev"](%self)
   = aten::set_grad_enabled(%4)
  return (%6)
