# run: compile, functionalize, tidy-functional, reinplace
# Columns that a loop writes are parts of the tensor, however the index says that all rows are meant.
def f(x, w, n: int):
  h = x * 1
  for i in range(n):
    h[:, 1:] += w[:, 1:]
    h[:][:, :, 0].mul_(w[:, :, 1])
    h.relu_()
  return h
# ---- expect
graph(%x : Tensor,
      %w : Tensor,
      %n : int):
  %45 : int = prim::Constant[value=2]()
  %9 : NoneType = prim::Constant()
  %8 : int = prim::Constant[value=0]()
  %5 : bool = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=1]()
  %h : Tensor = aten::mul(%x, %3)
  %68 : Tensor = prim::Loop(%n, %5, %h)
    block0(%i : int, %62 : Tensor):
      %12 : Tensor = aten::slice(%62, %8, %9, %9, %3)
      %16 : Tensor = aten::slice(%62, %3, %3, %9, %3)
      %22 : Tensor = aten::slice(%w, %8, %9, %9, %3)
      %26 : Tensor = aten::slice(%w, %3, %3, %9, %3)
      %63 : Tensor = aten::add_(%16, %26, %3)
      %33 : Tensor = aten::slice(%62, %8, %9, %9, %3)
      %39 : Tensor = aten::slice(%62, %8, %9, %9, %3)
      %44 : Tensor = aten::slice(%62, %3, %9, %9, %3)
      %46 : Tensor = aten::select(%62, %45, %8)
      %52 : Tensor = aten::slice(%w, %8, %9, %9, %3)
      %57 : Tensor = aten::slice(%w, %3, %9, %9, %3)
      %59 : Tensor = aten::select(%w, %45, %3)
      %65 : Tensor = aten::mul_(%46, %59)
      %67 : Tensor = cresset::relu(%62)
      -> (%5, %67)
  return (%68)
