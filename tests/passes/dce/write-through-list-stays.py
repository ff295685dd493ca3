# run: compile, dce
def f(x):
  l = [x]
  l[0].add_(1)
  y = x.clone()
  m = [y]
  m[0].add_(1)
  return y
# ---- expect
graph(%x : Tensor):
  %l : Tensor[] = prim::ListConstruct(%x)
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::__getitem__(%l, %2)
  %4 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::add_(%3, %4, %5)
  %7 : NoneType = prim::Constant()
  %y : Tensor = aten::clone(%x, %7)
  %m : Tensor[] = prim::ListConstruct(%y)
  %10 : int = prim::Constant[value=0]()
  %11 : Tensor = aten::__getitem__(%m, %10)
  %12 : int = prim::Constant[value=1]()
  %13 : int = prim::Constant[value=1]()
  %14 : Tensor = aten::add_(%11, %12, %13)
  return (%y)
