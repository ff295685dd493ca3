# run: plan
# What libraries ask of their arguments is known in a plan.
def f(x, b: Optional[Tensor], training: bool):
  if x.dim() != 2:
    raise ValueError("expected 2 dimensions, got {}".format(x.dim()))
  if b is not None:
    x = x + b
  if x.dtype == torch.float64:
    x = x.float()
  return torch.dropout(x, 0.5, training)
# call: f(torch.ones(2, 2), None, False)
# call: f(torch.ones(2, 2, dtype=torch.float64), torch.ones(2), True)
# ---- expect
# f(torch.ones(2, 2), None, False)
graph(%x.1 : Float(*, *, requires_grad=0, device=cpu),
      %b.1 : Tensor?,
      %training : bool):
  return (%x.1)
# f(torch.ones(2, 2, dtype=torch.float64), torch.ones(2), True)
graph(%x.1 : Double(*, *, requires_grad=0, device=cpu),
      %b.1 : Tensor?,
      %training : bool):
  %25 : float = prim::Constant[value=0.5]()
  %22 : NoneType = prim::Constant()
  %20 : bool = prim::Constant[value=0]()
  %19 : int = prim::Constant[value=6]()
  %13 : int = prim::Constant[value=1]()
  %28 : bool = prim::Constant[value=1]()
  %27 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%b.1)
  %x.2 : Double(*, *, requires_grad=0, device=cpu) = aten::add(%x.1, %27, %13)
  %x.4 : Float(*, *, requires_grad=0, device=cpu) = aten::to(%x.2, %19, %20, %20, %22)
  %26 : Float(*, *, requires_grad=0, device=cpu) = aten::dropout(%x.4, %25, %28)
  return (%26)
