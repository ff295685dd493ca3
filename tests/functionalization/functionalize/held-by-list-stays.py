# run: compile, functionalize
# A list holds the tensor while it is written.
def f(x):
  a = x * 2
  held = [a, x]
  a.add_(1)
  return torch.cat(held)
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %held : Tensor[] = prim::ListConstruct(%a, %x)
  %4 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=1]()
  %6 : Tensor = aten::add_(%a, %4, %5)
  %7 : int = prim::Constant[value=0]()
  %8 : Tensor = aten::cat(%held, %7)
  return (%8)
