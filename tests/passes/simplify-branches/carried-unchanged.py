# run: compile, simplify-branches, dce
def f(x, y, n: int):
  a = x
  b = y
  for i in range(n):
    a, b = a, b
    print(a)
  return a, b
# ---- expect
graph(%x : Tensor,
      %y : Tensor,
      %n : int):
  %3 : bool = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %3, %x, %y)
    block0(%i : int, %a.1 : Tensor, %b.1 : Tensor):
      %7 : (Tensor, Tensor) = prim::TupleConstruct(%a.1, %b.1)
      %a.2 : Tensor, %b.2 : Tensor = prim::TupleUnpack(%7)
       = prim::Print(%a.2)
      -> (%3, %a.2, %b.2)
  %13 : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%13)
