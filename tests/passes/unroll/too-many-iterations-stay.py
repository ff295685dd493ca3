# run: compile, unroll, dce
def f(x):
  for i in range(17):
    x = x + i
  return x
# ---- expect
graph(%x.1 : Tensor):
  %1 : int = prim::Constant[value=17]()
  %2 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%1, %2, %x.1)
    block0(%i : int, %x.2 : Tensor):
      %5 : int = prim::Constant[value=1]()
      %x.3 : Tensor = aten::add(%x.2, %i, %5)
      -> (%2, %x.3)
  return (%x)
