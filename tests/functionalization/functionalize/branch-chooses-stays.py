# run: compile, functionalize
# Which tensor is written is known only when the program runs.
def f(x, c: bool):
  a, b = x * 2, x * 3
  chosen = a if c else b
  chosen.add_(1)
  return a, b
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %2 : int = prim::Constant[value=2]()
  %3 : Tensor = aten::mul(%x, %2)
  %4 : int = prim::Constant[value=3]()
  %5 : Tensor = aten::mul(%x, %4)
  %6 : (Tensor, Tensor) = prim::TupleConstruct(%3, %5)
  %a : Tensor, %b : Tensor = prim::TupleUnpack(%6)
  %chosen : Tensor = prim::If(%c)
    block0():
      -> (%a)
    block1():
      -> (%b)
  %10 : int = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=1]()
  %12 : Tensor = aten::add_(%chosen, %10, %11)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%13)
