# run: compile, functionalize
# Operators that change the sizes of their argument.
def f(x):
  a = x * 2
  a.unsqueeze_(0)
  return a
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %3 : int = prim::Constant[value=0]()
  %4 : Tensor = aten::unsqueeze_(%a, %3)
  return (%a)
