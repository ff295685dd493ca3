# run: compile, pool-constants
def f(a, b):
  c = a + b
  d = c * c
  e = torch.tanh(d * c)
  return d + (e + e)
# ---- expect
graph(%a : Tensor,
      %b : Tensor):
  %2 : int = prim::Constant[value=1]()
  %c : Tensor = aten::add(%a, %b, %2)
  %d : Tensor = aten::mul(%c, %c)
  %5 : Tensor = aten::mul(%d, %c)
  %e : Tensor = aten::tanh(%5)
  %8 : Tensor = aten::add(%e, %e, %2)
  %10 : Tensor = aten::add(%d, %8, %2)
  return (%10)
