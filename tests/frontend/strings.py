# run: compile
def f(x: str, n: int):
  return "{} is {}".format(x, n), "%s %d" % (x, n), x + "a", x[1:], x[0], "a" in x, f"{x}!"
# ---- expect
graph(%x : str,
      %n : int):
  %2 : str = prim::Constant[value="{} is {}"]()
  %3 : str = aten::format(%2, %x, %n)
  %4 : str = prim::Constant[value="%s %d"]()
  %5 : (str, int) = prim::TupleConstruct(%x, %n)
  %6 : str = aten::percentFormat(%4, %5)
  %7 : str = prim::Constant[value="a"]()
  %8 : str = aten::add(%x, %7)
  %9 : int = prim::Constant[value=1]()
  %10 : NoneType = prim::Constant()
  %11 : int = prim::Constant[value=1]()
  %12 : str = aten::slice(%x, %9, %10, %11)
  %13 : int = prim::Constant[value=0]()
  %14 : str = aten::__getitem__(%x, %13)
  %15 : str = prim::Constant[value="a"]()
  %16 : int = aten::len(%x)
  %17 : int = prim::Constant[value=0]()
  %18 : int = aten::find(%x, %15, %17, %16)
  %19 : int = prim::Constant[value=-1]()
  %20 : bool = aten::ne(%18, %19)
  %21 : str = prim::Constant[value="{}!"]()
  %22 : str = aten::format(%21, %x)
  %23 : (str, str, str, str, str, bool, str) = prim::TupleConstruct(%3, %6, %8, %12, %14, %20, %22)
  return (%23)
