# run: compile
# The way archives write objects, missing literals and operators.
class A:
  prev : bool
  def __init__(self: A) -> NoneType:
    self.prev = torch.is_grad_enabled()
    return None

def f(x: Tensor) -> Tuple[A, float, Tensor]:
  a = A.__new__(A)
  _0 = (a).__init__()
  ops.prim.Print("a")
  return (a, inf, torch.to(x, ops.prim.device(x)))
# ---- expect
# f
graph(%x : Tensor):
  %a : A = prim::CreateObject()
  %_0 : NoneType = prim::CallMethod[name="__init__"](%a)
  %3 : str = prim::Constant[value="a"]()
   = prim::Print(%3)
  %5 : float = prim::Constant[value=inf]()
  %6 : Device = prim::device(%x)
  %7 : NoneType = prim::Constant()
  %8 : bool = prim::Constant[value=0]()
  %9 : bool = prim::Constant[value=0]()
  %10 : Tensor = aten::to(%x, %6, %7, %8, %9)
  %11 : (A, float, Tensor) = prim::TupleConstruct(%a, %5, %10)
  return (%11)
# A.__init__
graph(%self : A):
  %1 : bool = aten::is_grad_enabled()
   = prim::SetAttr[name="prev"](%self, %1)
  %2 : NoneType = prim::Constant()
  return (%2)
