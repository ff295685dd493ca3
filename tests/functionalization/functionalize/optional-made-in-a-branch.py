# run: compile, functionalize
def f(x, c: bool):
  h: Optional[Tensor] = None
  if c:
    h = x * 2
  if h is not None:
    h.add_(1)
  return h
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %h.1 : NoneType = prim::Constant()
  %h.3 : Tensor? = prim::If(%c)
    block0():
      %3 : int = prim::Constant[value=2]()
      %h.2 : Tensor = aten::mul(%x, %3)
      -> (%h.2)
    block1():
      -> (%h.1)
  %6 : NoneType = prim::Constant()
  %7 : bool = aten::__isnot__(%h.3, %6)
  %13 : Tensor? = prim::If(%7)
    block0():
      %h : Tensor = prim::unchecked_cast(%h.3)
      %9 : int = prim::Constant[value=1]()
      %10 : int = prim::Constant[value=1]()
      %12 : Tensor = cresset::add(%h, %9, %10)
      -> (%12)
    block1():
      -> (%h.3)
  return (%13)
