# run: compile, read-containers, lower-tuples, constant-propagation, dce
# Keys, values and items of what nothing writes to; whether a constant is in a list of known elements.
def f(x: Tensor, k: str, n: int):
    d = {"a": x, "b": x + 1}
    y = d.values()[1]
    keys = d.keys()
    for key, value in d.items():
        if key in ["b", "c"]:
            y = y * value
    lists = [1.0, -0.0], [k, "a"], [n, 2], [float("nan")]
    known = keys[0], 0.0 in lists[0], "a" in lists[1], 3 in [1, 2]
    unknown = k in keys, "b" in lists[1], 3 in lists[2], float("nan") in lists[3]
    return y, known, unknown
# ---- expect
graph(%x : Tensor,
      %k : str,
      %n : int):
  %3 : str = prim::Constant[value="a"]()
  %4 : str = prim::Constant[value="b"]()
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::Constant[value=1]()
  %7 : Tensor = aten::add(%x, %5, %6)
  %72 : Tensor[] = prim::ListConstruct(%x, %7)
  %10 : int = prim::Constant[value=1]()
  %y.1 : Tensor = aten::__getitem__(%72, %10)
  %73 : str[] = prim::ListConstruct(%3, %4)
  %74 : (str, Tensor) = prim::TupleConstruct(%3, %x)
  %75 : (str, Tensor) = prim::TupleConstruct(%4, %7)
  %76 : (str, Tensor)[] = prim::ListConstruct(%74, %75)
  %14 : int = aten::len(%76)
  %15 : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%14, %15, %y.1)
    block0(%16 : int, %y.2 : Tensor):
      %18 : (str, Tensor) = aten::__getitem__(%76, %16)
      %key : str, %value : Tensor = prim::TupleUnpack(%18)
      %21 : str = prim::Constant[value="b"]()
      %22 : str = prim::Constant[value="c"]()
      %23 : str[] = prim::ListConstruct(%21, %22)
      %24 : bool = aten::__contains__(%23, %key)
      %y.4 : Tensor = prim::If(%24)
        block0():
          %y.3 : Tensor = aten::mul(%y.2, %value)
          -> (%y.3)
        block1():
          -> (%y.2)
      -> (%15, %y.4)
  %31 : str = prim::Constant[value="a"]()
  %32 : str[] = prim::ListConstruct(%k, %31)
  %33 : int = prim::Constant[value=2]()
  %34 : int[] = prim::ListConstruct(%n, %33)
  %39 : int = prim::Constant[value=0]()
  %40 : str = aten::__getitem__(%73, %39)
  %78 : bool = prim::Constant[value=1]()
  %45 : str = prim::Constant[value="a"]()
  %48 : bool = aten::__contains__(%32, %45)
  %71 : bool = prim::Constant[value=0]()
  %known : (str, bool, bool, bool) = prim::TupleConstruct(%40, %78, %48, %71)
  %55 : bool = aten::__contains__(%73, %k)
  %56 : str = prim::Constant[value="b"]()
  %59 : bool = aten::__contains__(%32, %56)
  %60 : int = prim::Constant[value=3]()
  %63 : bool = aten::__contains__(%34, %60)
  %80 : bool = prim::Constant[value=0]()
  %unknown : (bool, bool, bool, bool) = prim::TupleConstruct(%55, %59, %63, %80)
  %70 : (Tensor, (str, bool, bool, bool), (bool, bool, bool, bool)) = prim::TupleConstruct(%y, %known, %unknown)
  return (%70)
