# run: compile, functionalize
# A view that comes out of a branch is not followed, so the write after it stays; that in the branch goes.
def f(x, c: bool):
  if c:
    a = x * 2
    a.add_(1)
    b = a[0]
  else:
    a = x.neg()
    b = a[1]
  a.mul_(3)
  return a, b
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %a : Tensor, %b : Tensor = prim::If(%c)
    block0():
      %2 : int = prim::Constant[value=2]()
      %a.1 : Tensor = aten::mul(%x, %2)
      %4 : int = prim::Constant[value=1]()
      %5 : int = prim::Constant[value=1]()
      %19 : Tensor = cresset::add(%a.1, %4, %5)
      %7 : int = prim::Constant[value=0]()
      %8 : int = prim::Constant[value=0]()
      %b.1 : Tensor = aten::select(%19, %8, %7)
      -> (%19, %b.1)
    block1():
      %a.2 : Tensor = aten::neg(%x)
      %11 : int = prim::Constant[value=1]()
      %12 : int = prim::Constant[value=0]()
      %b.2 : Tensor = aten::select(%a.2, %12, %11)
      -> (%a.2, %b.2)
  %16 : int = prim::Constant[value=3]()
  %17 : Tensor = aten::mul_(%a, %16)
  %18 : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%18)
