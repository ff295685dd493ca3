# run: compile, functionalize, tidy-functional
# What a loop writes is carried around it; the accumulator was carried before under another name.
def f(x, n: int):
  a = x * 2
  for i in range(n):
    a += x
    a.select(0, i).mul_(2)
  return a
# ---- expect
graph(%x : Tensor,
      %n : int):
  %9 : int = prim::Constant[value=0]()
  %7 : int = prim::Constant[value=1]()
  %4 : bool = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %a.1 : Tensor = aten::mul(%x, %2)
  %18 : Tensor = prim::Loop(%n, %4, %a.1)
    block0(%i : int, %14 : Tensor):
      %15 : Tensor = cresset::add(%14, %x, %7)
      %10 : Tensor = aten::select(%15, %9, %i)
      %16 : Tensor = cresset::mul(%10, %2)
      %17 : Tensor = aten::select_scatter(%15, %16, %9, %i)
      -> (%4, %17)
  return (%18)
