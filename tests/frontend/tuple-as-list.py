# run: compile
def f(a: Tuple[int, int]) -> List[int]:
  b: List[int] = a * 2
  b.append(3)
  return b + a
# ---- expect
graph(%a : (int, int)):
  %2 : int, %3 : int = prim::TupleUnpack(%a)
  %5 : int[] = prim::ListConstruct(%2, %3, %2, %3)
  %6 : int = prim::Constant[value=3]()
  %7 : int[] = aten::append(%5, %6)
  %8 : int, %9 : int = prim::TupleUnpack(%a)
  %10 : int[] = prim::ListConstruct(%8, %9)
  %11 : int[] = aten::add(%5, %10)
  return (%11)
