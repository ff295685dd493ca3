# run: compile
def f(x: Tensor):
  a, b = x
  return a + b
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=0]()
  %2 : Tensor[] = aten::unbind(%x, %1)
  %a : Tensor, %b : Tensor = prim::ListUnpack(%2)
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::add(%a, %b, %5)
  return (%6)
