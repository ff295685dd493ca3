# run: compile, unroll, constant-propagation, dce
def f(x):
  for i in range(2):
    for j in range(i + 1):
      x = x + i * 10 + j
  return x
# ---- expect
graph(%x.1 : Tensor):
  %44 : int = prim::Constant[value=1]()
  %21 : bool = prim::Constant[value=1]()
  %x.5 : Tensor = prim::Loop(%44, %21, %x.1)
    block0(%j : int, %x.3 : Tensor):
      %45 : int = prim::Constant[value=0]()
      %27 : int = prim::Constant[value=1]()
      %28 : Tensor = aten::add(%x.3, %45, %27)
      %29 : int = prim::Constant[value=1]()
      %x.4 : Tensor = aten::add(%28, %j, %29)
      -> (%21, %x.4)
  %46 : int = prim::Constant[value=2]()
  %34 : bool = prim::Constant[value=1]()
  %x.8 : Tensor = prim::Loop(%46, %34, %x.5)
    block0(%j.1 : int, %x.6 : Tensor):
      %47 : int = prim::Constant[value=10]()
      %40 : int = prim::Constant[value=1]()
      %41 : Tensor = aten::add(%x.6, %47, %40)
      %42 : int = prim::Constant[value=1]()
      %x.7 : Tensor = aten::add(%41, %j.1, %42)
      -> (%34, %x.7)
  return (%x.8)
