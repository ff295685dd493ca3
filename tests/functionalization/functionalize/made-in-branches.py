# run: compile, functionalize, tidy-functional
# What each branch makes is, after them, a tensor of its own.
def f(x, c: bool):
  if c:
    a = x * 2
    a.add_(1)
  else:
    a = x.neg()
  a.mul_(3)
  return a
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %9 : int = prim::Constant[value=3]()
  %4 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = prim::If(%c)
    block0():
      %a.1 : Tensor = aten::mul(%x, %2)
      %11 : Tensor = cresset::add(%a.1, %4, %4)
      -> (%11)
    block1():
      %a.2 : Tensor = aten::neg(%x)
      -> (%a.2)
  %12 : Tensor = cresset::mul(%a, %9)
  return (%12)
