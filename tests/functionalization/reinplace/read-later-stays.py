# run: compile, reinplace
# `a` and a part of it are read after the write to `c`.
def f(x):
  a = x * 2
  c = torch.select_scatter(a, torch.ops.cresset.add(a[0], 1, alpha=1), 0, 0)
  b = x * 3
  part = b[1:]
  d = torch.select_scatter(b, torch.ops.cresset.add(b[0], 1, alpha=1), 0, 0)
  return a, c, part * 2, d
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %1)
  %3 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=0]()
  %5 : Tensor = aten::select(%a, %4, %3)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = cresset::add(%5, %6, %7)
  %9 : int = prim::Constant[value=0]()
  %10 : int = prim::Constant[value=0]()
  %c : Tensor = cresset::select_assign(%a, %8, %9, %10)
  %12 : int = prim::Constant[value=3]()
  %b : Tensor = aten::mul(%x, %12)
  %14 : int = prim::Constant[value=1]()
  %15 : int = prim::Constant[value=0]()
  %16 : NoneType = prim::Constant()
  %17 : int = prim::Constant[value=1]()
  %part : Tensor = aten::slice(%b, %15, %14, %16, %17)
  %19 : int = prim::Constant[value=0]()
  %20 : int = prim::Constant[value=0]()
  %21 : Tensor = aten::select(%b, %20, %19)
  %22 : int = prim::Constant[value=1]()
  %23 : int = prim::Constant[value=1]()
  %24 : Tensor = cresset::add(%21, %22, %23)
  %25 : int = prim::Constant[value=0]()
  %26 : int = prim::Constant[value=0]()
  %d : Tensor = cresset::select_assign(%b, %24, %25, %26)
  %28 : int = prim::Constant[value=2]()
  %29 : Tensor = aten::mul(%part, %28)
  %30 : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %c, %29, %d)
  return (%30)
