# run: compile, read-containers, dce
# Written lists and dicts, places that are not there, keys that may be equal.
def f(x: int, s: str):
    l = [x, 2]
    l.append(3)
    m = [x]
    d = {"a": 1, s: 2}
    e = {"a": 1}
    e["b"] = 2
    nan = {float("nan"): 1}
    return l[0], m[1], d["a"], len(e), nan[float("nan")], {1: x}[x]
# ---- expect
graph(%x : int,
      %s : str):
  %2 : int = prim::Constant[value=2]()
  %l : int[] = prim::ListConstruct(%x, %2)
  %4 : int = prim::Constant[value=3]()
  %5 : int[] = aten::append(%l, %4)
  %m : int[] = prim::ListConstruct(%x)
  %7 : str = prim::Constant[value="a"]()
  %8 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=2]()
  %d : Dict(str, int) = prim::DictConstruct(%7, %8, %s, %9)
  %11 : str = prim::Constant[value="a"]()
  %12 : int = prim::Constant[value=1]()
  %e : Dict(str, int) = prim::DictConstruct(%11, %12)
  %14 : int = prim::Constant[value=2]()
  %15 : str = prim::Constant[value="b"]()
   = aten::_set_item(%e, %15, %14)
  %17 : str = prim::Constant[value="nan"]()
  %18 : float = aten::Float(%17)
  %19 : int = prim::Constant[value=1]()
  %nan : Dict(float, int) = prim::DictConstruct(%18, %19)
  %21 : int = prim::Constant[value=0]()
  %22 : int = aten::__getitem__(%l, %21)
  %23 : int = prim::Constant[value=1]()
  %24 : int = aten::__getitem__(%m, %23)
  %25 : str = prim::Constant[value="a"]()
  %26 : int = aten::__getitem__(%d, %25)
  %27 : int = aten::len(%e)
  %28 : str = prim::Constant[value="nan"]()
  %29 : float = aten::Float(%28)
  %30 : int = aten::__getitem__(%nan, %29)
  %31 : int = prim::Constant[value=1]()
  %32 : Dict(int, int) = prim::DictConstruct(%31, %x)
  %33 : int = aten::__getitem__(%32, %x)
  %34 : (int, int, int, int, int, int) = prim::TupleConstruct(%22, %24, %26, %27, %30, %33)
  return (%34)
