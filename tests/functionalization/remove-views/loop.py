# run: compile, functionalize, remove-views, tidy-functional
# Views in loops and branches.
def f(x, c: bool):
  a = x * 1
  for i in range(3):
    a[i].add_(i)
    if c:
      a[:, 0].zero_()
  return a
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %13 : NoneType = prim::Constant()
  %7 : int = prim::Constant[value=0]()
  %5 : bool = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=3]()
  %2 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %2)
  %26 : Tensor = prim::Loop(%4, %5, %a)
    block0(%i : int, %20 : Tensor):
      %29 : Tensor = aten::select_copy(%20, %7, %i)
      %21 : Tensor = cresset::add(%29, %i, %2)
      %22 : Tensor = aten::select_scatter(%20, %21, %7, %i)
      %25 : Tensor = prim::If(%c)
        block0():
          %28 : Tensor = aten::slice_copy(%22, %7, %13, %13, %2)
          %27 : Tensor = aten::select_copy(%22, %2, %7)
          %23 : Tensor = cresset::zero(%27)
          %24 : Tensor = aten::select_scatter(%22, %23, %2, %7)
          -> (%24)
        block1():
          -> (%22)
      -> (%5, %25)
  return (%26)
