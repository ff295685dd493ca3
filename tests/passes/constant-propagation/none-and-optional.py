# run: compile, constant-propagation, simplify-branches, dce
def g(x, b: Optional[Tensor] = None):
  if b is None:
    return x
  return x + b
def f(x):
  y: Optional[int] = None
  if y is None:
    y = 3
  return x * y
# ---- expect
# g
graph(%x : Tensor,
      %b.1 : Tensor?):
  %2 : NoneType = prim::Constant()
  %3 : bool = aten::__is__(%b.1, %2)
  %7 : Tensor = prim::If(%3)
    block0():
      -> (%x)
    block1():
      %b : Tensor = prim::unchecked_cast(%b.1)
      %5 : int = prim::Constant[value=1]()
      %6 : Tensor = aten::add(%x, %b, %5)
      -> (%6)
  return (%7)
# f
graph(%x : Tensor):
  %y.2 : int = prim::Constant[value=3]()
  %8 : Tensor = aten::mul(%x, %y.2)
  return (%8)
