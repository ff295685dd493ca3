# run: plan
# No signature tells which element that is: the second plan looks at it.
def f(l: List[Tensor], i: int):
  a = l[i]
  if a.dim() == 1:
    return a * 2 + 1
  return a.sum(0)
# call: f([torch.ones(2)], 0)
# ---- expect
# f([torch.ones(2)], 0)
graph(%l : Tensor[],
      %i : int):
  %8 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=2]()
  %a : Tensor = aten::__getitem__(%l, %i)
  %17 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%a)
  %7 : Float(*, requires_grad=0, device=cpu) = aten::mul(%17, %6)
  %10 : Float(*, requires_grad=0, device=cpu) = aten::add(%7, %8, %8)
  return (%10)
