# run: compile, constant-propagation, dce
def f():
  big = 9223372036854775807
  return big + 1, big * 2, -big - 2, big // -1, big ** 2
# ---- expect
graph():
  %13 : int = prim::Constant[value=-9223372036854775808]()
  %14 : int = prim::Constant[value=-2]()
  %16 : int = prim::Constant[value=9223372036854775807]()
  %17 : int = prim::Constant[value=-9223372036854775807]()
  %18 : float = prim::Constant[value=8.5070591730234616e+37]()
  %12 : (int, int, int, int, float) = prim::TupleConstruct(%13, %14, %16, %17, %18)
  return (%12)
