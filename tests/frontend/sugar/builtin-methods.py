# run: compile
def f(s: str, xs: List[int], d: Dict[str, int]):
    xs.append(len(s.strip()))
    d.update(d)
    return s.upper().split(","), xs.index(3), d.keys(), d.get("a"), d["b"], xs[0], "k" in d
# ---- expect
graph(%s : str,
      %xs : int[],
      %d : Dict(str, int)):
  %3 : str = prim::Constant[value=" \n\t\f\v"]()
  %4 : str = aten::strip(%s, %3)
  %5 : int = aten::len(%4)
  %6 : int[] = aten::append(%xs, %5)
   = aten::update(%d, %d)
  %8 : str = aten::upper(%s)
  %9 : str = prim::Constant[value=","]()
  %10 : int = prim::Constant[value=-1]()
  %11 : str[] = aten::split(%8, %9, %10)
  %12 : int = prim::Constant[value=3]()
  %13 : int = aten::index(%xs, %12)
  %14 : str[] = aten::keys(%d)
  %15 : str = prim::Constant[value="a"]()
  %16 : int? = aten::get(%d, %15)
  %17 : str = prim::Constant[value="b"]()
  %18 : int = aten::__getitem__(%d, %17)
  %19 : int = prim::Constant[value=0]()
  %20 : int = aten::__getitem__(%xs, %19)
  %21 : str = prim::Constant[value="k"]()
  %22 : bool = aten::__contains__(%d, %21)
  %23 : (str[], int, str[], int?, int, int, bool) = prim::TupleConstruct(%11, %13, %14, %16, %18, %20, %22)
  return (%23)
