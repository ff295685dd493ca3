# run: plan
class C:
  def __init__(self, n: int, w: Tensor):
    self.n = n
    self.w = w
def f(c: C, x):
  c.n += 1
  if c.n > 3:
    c.w = x
  return c.w * c.n
# call: f(C(1, torch.ones(2)), torch.ones(2))
# ---- expect
# f(C(1, torch.ones(2)), torch.ones(2))
graph(%c : C,
      %x : Float(*, requires_grad=0, device=cpu)):
  %6 : int = prim::Constant[value=3]()
  %3 : int = prim::Constant[value=1]()
  %2 : int = prim::GetAttr[name="n"](%c)
  %4 : int = aten::add(%2, %3)
   = prim::SetAttr[name="n"](%c, %4)
  %5 : int = prim::GetAttr[name="n"](%c)
  %7 : bool = aten::gt(%5, %6)
   = prim::If(%7)
    block0():
       = prim::SetAttr[name="w"](%c, %x)
      -> ()
    block1():
      -> ()
  %8 : Tensor = prim::GetAttr[name="w"](%c)
  %11 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%8, %c)
  %9 : int = prim::GetAttr[name="n"](%c)
  %10 : Float(*, requires_grad=0, device=cpu) = aten::mul(%11, %9)
  return (%10)
