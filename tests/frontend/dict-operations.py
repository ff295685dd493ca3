# run: compile
def f(d: Dict[str, int]):
  d["a"] = 1
  d["b"] += 2
  del d["c"]
  s = 0
  for k in d:
    s += d[k]
  return s, "a" in d, {"x": 1}, {}
# ---- expect
graph(%d : Dict(str, int)):
  %1 : int = prim::Constant[value=1]()
  %2 : str = prim::Constant[value="a"]()
   = aten::_set_item(%d, %2, %1)
  %4 : str = prim::Constant[value="b"]()
  %5 : int = aten::__getitem__(%d, %4)
  %6 : int = prim::Constant[value=2]()
  %7 : int = aten::add(%5, %6)
   = aten::_set_item(%d, %4, %7)
  %9 : str = prim::Constant[value="c"]()
   = aten::Delete(%d, %9)
  %s.1 : int = prim::Constant[value=0]()
  %12 : str[] = aten::keys(%d)
  %13 : int = aten::len(%12)
  %14 : bool = prim::Constant[value=1]()
  %s : int = prim::Loop(%13, %14, %s.1)
    block0(%15 : int, %s.2 : int):
      %k : str = aten::__getitem__(%12, %15)
      %18 : int = aten::__getitem__(%d, %k)
      %s.3 : int = aten::add(%s.2, %18)
      -> (%14, %s.3)
  %21 : str = prim::Constant[value="a"]()
  %22 : bool = aten::__contains__(%d, %21)
  %23 : str = prim::Constant[value="x"]()
  %24 : int = prim::Constant[value=1]()
  %25 : Dict(str, int) = prim::DictConstruct(%23, %24)
  %26 : Dict(str, Tensor) = prim::DictConstruct()
  %27 : (int, bool, Dict(str, int), Dict(str, Tensor)) = prim::TupleConstruct(%s, %22, %25, %26)
  return (%27)
