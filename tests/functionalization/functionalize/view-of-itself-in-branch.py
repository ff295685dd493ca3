# run: compile, functionalize
# In a branch it gets other sizes by a functional call.
def f(x, c: bool):
  a = x * 2
  if c:
    a.t_()
  return a
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %7 : Tensor = prim::If(%c)
    block0():
      %5 : bool = prim::Constant[value=1]()
      %6 : Tensor = cresset::functional_aten_t_(%a, %5)
      -> (%6)
    block1():
      -> (%a)
  return (%7)
