# run: compile
def f(x, m):
  x[0] = 3
  x[m] = x[0]
  x[1:2] *= 2
  x[m] += 1
  x += 1
  return x
# ---- expect
graph(%x.1 : Tensor,
      %m : Tensor):
  %2 : int = prim::Constant[value=3]()
  %3 : int = prim::Constant[value=0]()
  %4 : int = prim::Constant[value=0]()
  %5 : Tensor = aten::select(%x.1, %4, %3)
  %6 : int = prim::dtype(%5)
  %7 : Device = prim::device(%5)
  %8 : bool = prim::Constant[value=0]()
  %9 : Tensor = aten::tensor(%2, %6, %7, %8)
  %10 : bool = prim::Constant[value=0]()
  %11 : Tensor = aten::copy_(%5, %9, %10)
  %12 : int = prim::Constant[value=0]()
  %13 : int = prim::Constant[value=0]()
  %14 : Tensor = aten::select(%x.1, %13, %12)
  %15 : Tensor?[] = prim::ListConstruct(%m)
  %16 : bool = prim::Constant[value=0]()
  %17 : Tensor = aten::index_put_(%x.1, %15, %14, %16)
  %18 : int = prim::Constant[value=1]()
  %19 : int = prim::Constant[value=2]()
  %20 : int = prim::Constant[value=0]()
  %21 : int = prim::Constant[value=1]()
  %22 : Tensor = aten::slice(%x.1, %20, %18, %19, %21)
  %23 : int = prim::Constant[value=2]()
  %24 : Tensor = aten::mul_(%22, %23)
  %25 : Tensor?[] = prim::ListConstruct(%m)
  %26 : Tensor = aten::index(%x.1, %25)
  %27 : int = prim::Constant[value=1]()
  %28 : int = prim::Constant[value=1]()
  %29 : Tensor = aten::add_(%26, %27, %28)
  %30 : bool = prim::Constant[value=0]()
  %31 : Tensor = aten::index_put_(%x.1, %25, %29, %30)
  %32 : int = prim::Constant[value=1]()
  %33 : int = prim::Constant[value=1]()
  %x : Tensor = aten::add_(%x.1, %32, %33)
  return (%x)
