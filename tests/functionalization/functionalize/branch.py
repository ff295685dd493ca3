# run: compile, functionalize, tidy-functional
# What a branch writes is an output of it.
def f(x, c: bool):
  a = x * 2
  if c:
    a[0] = 1
  else:
    a.neg_()
  return a
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %10 : bool = prim::Constant[value=0]()
  %5 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %18 : Tensor = prim::If(%c)
    block0():
      %7 : Tensor = aten::select(%a, %5, %5)
      %8 : int = prim::dtype(%7)
      %9 : Device = prim::device(%7)
      %11 : Tensor = aten::tensor(%4, %8, %9, %10)
      %15 : Tensor = cresset::copy(%7, %11, %10)
      %16 : Tensor = aten::select_scatter(%a, %15, %5, %5)
      -> (%16)
    block1():
      %17 : Tensor = cresset::neg(%a)
      -> (%17)
  return (%18)
