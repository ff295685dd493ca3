# run: compile, functionalize, tidy-functional, reinplace
# Calls that write to several tensors write to all of them, or to none.
def f(x, y, z):
  a = x * 2
  b = x * 3
  torch._foreach_add_([a, b], 1)
  torch.add(y, a, out=z)
  c = x * 4
  d = c + 1
  torch._foreach_mul_([c, d], 2)
  return a, b, z
# ---- expect
graph(%x : Tensor,
      %y : Tensor,
      %z : Tensor):
  %12 : int = prim::Constant[value=4]()
  %21 : bool = prim::Constant[value=0]()
  %8 : int = prim::Constant[value=1]()
  %5 : int = prim::Constant[value=3]()
  %3 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %3)
  %b : Tensor = aten::mul(%x, %5)
  %7 : Tensor[] = prim::ListConstruct(%a, %b)
   = aten::_foreach_add_(%7, %8)
  %11 : Tensor = aten::add(%y, %a, %8, %z)
  %c : Tensor = aten::mul(%x, %12)
  %d : Tensor = aten::add(%c, %8, %8)
  %17 : Tensor[] = prim::ListConstruct(%c, %d)
   = aten::_foreach_mul_(%17, %3)
  %20 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %b, %z)
  return (%20)
