# run: compile, lower-tuples, dce
def f(x, n: int):
  l = [(x, n), (x, 2)]
  return l[n][0]
# ---- expect
graph(%x : Tensor,
      %n : int):
  %2 : (Tensor, int) = prim::TupleConstruct(%x, %n)
  %3 : int = prim::Constant[value=2]()
  %4 : (Tensor, int) = prim::TupleConstruct(%x, %3)
  %l : (Tensor, int)[] = prim::ListConstruct(%2, %4)
  %6 : (Tensor, int) = aten::__getitem__(%l, %n)
  %7 : int = prim::Constant[value=0]()
  %8 : Tensor = prim::TupleIndex(%6, %7)
  return (%8)
