# run: compile, functionalize
# The list is made after the write.
def f(x):
  a = x * 2
  a.add_(1)
  return torch.cat([a, x])
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %3 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=1]()
  %9 : Tensor = cresset::add(%a, %3, %4)
  %6 : Tensor[] = prim::ListConstruct(%9, %x)
  %7 : int = prim::Constant[value=0]()
  %8 : Tensor = aten::cat(%6, %7)
  return (%8)
