# run: plan
class C:
  def __init__(self, l: List[Tensor]):
    self.l = l
def f(c: C, i: int):
  a = c.l[i]
  b = c.l[i + 1]
  return a * b + b
# call: f(C([torch.ones(2), torch.ones(2, 2)]), 0)
# ---- expect
# f(C([torch.ones(2), torch.ones(2, 2)]), 0)
graph(%c : C,
      %i : int):
  %5 : int = prim::Constant[value=1]()
  %2 : Tensor[] = prim::GetAttr[name="l"](%c)
  %a : Tensor = aten::__getitem__(%2, %i)
  %11 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%a, %c, %i)
  %6 : int = aten::add(%i, %5)
  %b : Tensor = aten::__getitem__(%2, %6)
  %12 : Float(*, *, requires_grad=0, device=cpu) = prim::BailOut[index=1](%b, %a)
  %8 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%11, %12)
  %10 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%8, %12, %5)
  return (%10)
