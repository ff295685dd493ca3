# run: compile
# The variable keeps its annotated type.
def f(c: bool):
  x: Optional[int] = 3
  y = [x]
  if c:
    x = None
  return x, y
# ---- expect
graph(%c : bool):
  %x.1 : int = prim::Constant[value=3]()
  %y : int?[] = prim::ListConstruct(%x.1)
  %x : int? = prim::If(%c)
    block0():
      %x.2 : NoneType = prim::Constant()
      -> (%x.2)
    block1():
      -> (%x.1)
  %6 : (int?, int?[]) = prim::TupleConstruct(%x, %y)
  return (%6)
