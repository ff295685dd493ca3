# run: compile
def f():
  a: List[Optional[int]] = [1, None]
  b: List[int] = []
  return a, b, [], [1, 2], [[1.0], [2.0]]
# ---- expect
graph():
  %0 : int = prim::Constant[value=1]()
  %1 : NoneType = prim::Constant()
  %a : int?[] = prim::ListConstruct(%0, %1)
  %b : int[] = prim::ListConstruct()
  %4 : Tensor[] = prim::ListConstruct()
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=2]()
  %7 : int[] = prim::ListConstruct(%5, %6)
  %8 : float = prim::Constant[value=1.]()
  %9 : float[] = prim::ListConstruct(%8)
  %10 : float = prim::Constant[value=2.]()
  %11 : float[] = prim::ListConstruct(%10)
  %12 : float[][] = prim::ListConstruct(%9, %11)
  %13 : (int?[], int[], Tensor[], int[], float[][]) = prim::TupleConstruct(%a, %b, %4, %7, %12)
  return (%13)
