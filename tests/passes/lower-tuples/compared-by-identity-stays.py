# run: compile, lower-tuples, dce
def f(x, c: bool):
  t = (x, 1)
  u = (x, 1)
  if c:
    u = t
  return t is u, u[1]
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %2 : int = prim::Constant[value=1]()
  %t : (Tensor, int) = prim::TupleConstruct(%x, %2)
  %4 : int = prim::Constant[value=1]()
  %u.1 : (Tensor, int) = prim::TupleConstruct(%x, %4)
  %u : (Tensor, int) = prim::If(%c)
    block0():
      -> (%t)
    block1():
      -> (%u.1)
  %7 : bool = aten::__is__(%t, %u)
  %8 : int = prim::Constant[value=1]()
  %9 : int = prim::TupleIndex(%u, %8)
  %10 : (bool, int) = prim::TupleConstruct(%7, %9)
  return (%10)
