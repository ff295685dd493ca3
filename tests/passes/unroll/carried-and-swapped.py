# run: compile, unroll, constant-propagation, dce
def f(a: int, b: int):
  for i in range(3):
    a, b = b, a - b
  return a, b
# ---- expect
graph(%a.1 : int,
      %b.1 : int):
  %14 : int = aten::sub(%a.1, %b.1)
  %15 : (int, int) = prim::TupleConstruct(%b.1, %14)
  %a.3 : int, %b.3 : int = prim::TupleUnpack(%15)
  %18 : int = aten::sub(%a.3, %b.3)
  %19 : (int, int) = prim::TupleConstruct(%b.3, %18)
  %a.4 : int, %b.4 : int = prim::TupleUnpack(%19)
  %22 : int = aten::sub(%a.4, %b.4)
  %23 : (int, int) = prim::TupleConstruct(%b.4, %22)
  %a.5 : int, %b.5 : int = prim::TupleUnpack(%23)
  %13 : (int, int) = prim::TupleConstruct(%a.5, %b.5)
  return (%13)
