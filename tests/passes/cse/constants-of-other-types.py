# run: compile, pool-constants, cse
# 1, 1.0 and True are three constants; 0.0 and -0.0 too.
def f(x):
  return x + 1, x + 1.0, x * 0.0, x * -0.0, [1], [True], "1"
# ---- expect
graph(%x : Tensor):
  %15 : str = prim::Constant[value="1"]()
  %13 : bool = prim::Constant[value=1]()
  %9 : float = prim::Constant[value=-0.]()
  %7 : float = prim::Constant[value=0.]()
  %4 : float = prim::Constant[value=1.]()
  %1 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%x, %1, %1)
  %6 : Tensor = aten::add(%x, %4, %1)
  %8 : Tensor = aten::mul(%x, %7)
  %10 : Tensor = aten::mul(%x, %9)
  %12 : int[] = prim::ListConstruct(%1)
  %14 : bool[] = prim::ListConstruct(%13)
  %16 : (Tensor, Tensor, Tensor, Tensor, int[], bool[], str) = prim::TupleConstruct(%3, %6, %8, %10, %12, %14, %15)
  return (%16)
