# run: plan
# An element at a constant index that nothing has changed before is part of the signature.
def f(l: List[Tensor]):
  a = l[0]
  if a.dim() == 1:
    y = a * 2 + 1
  else:
    y = a.sum(0)
  l[0] = y
  return y
# call: f([torch.ones(2)])
# ---- expect
# f([torch.ones(2)])
graph(%l : Tensor[],
      %19 : Tensor?):
  %17 : int = prim::Constant[value=0]()
  %8 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=2]()
  %20 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%19)
  %7 : Float(*, requires_grad=0, device=cpu) = aten::mul(%20, %6)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::add(%7, %8, %8)
  %18 : Tensor[] = aten::_set_item(%l, %17, %y.1)
  return (%y.1)
