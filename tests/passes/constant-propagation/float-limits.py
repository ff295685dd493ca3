# run: compile, constant-propagation, dce
def f():
  return 0.1 + 0.2, 1e308 * 10.0, float("nan"), 0.0 * -1.0, 7.0 // 2.0, -7.5 % 2.0
# ---- expect
graph():
  %18 : float = prim::Constant[value=0.30000000000000004]()
  %19 : float = prim::Constant[value=inf]()
  %20 : float = prim::Constant[value=nan]()
  %21 : float = prim::Constant[value=-0.]()
  %22 : float = prim::Constant[value=3.]()
  %23 : float = prim::Constant[value=0.5]()
  %17 : (float, float, float, float, float, float) = prim::TupleConstruct(%18, %19, %20, %21, %22, %23)
  return (%17)
