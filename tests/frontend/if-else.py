# run: compile
def f(a, b, c: bool):
    d = a + b
    if c:
        e = d + d
    else:
        e = b + d
    return e
# ---- expect
graph(%a : Tensor,
      %b : Tensor,
      %c : bool):
  %3 : int = prim::Constant[value=1]()
  %d : Tensor = aten::add(%a, %b, %3)
  %e : Tensor = prim::If(%c)
    block0():
      %5 : int = prim::Constant[value=1]()
      %e.1 : Tensor = aten::add(%d, %d, %5)
      -> (%e.1)
    block1():
      %7 : int = prim::Constant[value=1]()
      %e.2 : Tensor = aten::add(%b, %d, %7)
      -> (%e.2)
  return (%e)
