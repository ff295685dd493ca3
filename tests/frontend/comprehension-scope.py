# run: compile
# The comprehension's variable hides that of the function.
def f(x: str, xs: List[int]):
  ys = [x + 1 for x in xs]
  return x, ys
# ---- expect
graph(%x.1 : str,
      %xs : int[]):
  %ys : int[] = prim::ListConstruct()
  %3 : int = aten::len(%xs)
  %4 : bool = prim::Constant[value=1]()
   = prim::Loop(%3, %4)
    block0(%5 : int):
      %x : int = aten::__getitem__(%xs, %5)
      %7 : int = prim::Constant[value=1]()
      %8 : int = aten::add(%x, %7)
      %9 : int[] = aten::append(%ys, %8)
      -> (%4)
  %10 : (str, int[]) = prim::TupleConstruct(%x.1, %ys)
  return (%10)
