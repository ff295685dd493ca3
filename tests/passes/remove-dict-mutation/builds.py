# run: compile, remove-dict-mutation, constant-propagation, dce
def f(x: int):
    d = {"a": x}
    d["b"] = x + 1
    d["a"] = x + 2
    e = d["b"] + len(d)
    g = {1: x}
    return d, e, "a" in d, g[1], 2 in g
# ---- expect
graph(%x : int):
  %1 : str = prim::Constant[value="a"]()
  %3 : int = prim::Constant[value=1]()
  %4 : int = aten::add(%x, %3)
  %5 : str = prim::Constant[value="b"]()
  %7 : int = prim::Constant[value=2]()
  %8 : int = aten::add(%x, %7)
  %d : Dict(str, int) = prim::DictConstruct(%1, %8, %5, %4)
  %24 : int = prim::Constant[value=2]()
  %e : int = aten::add(%4, %24)
  %25 : bool = prim::Constant[value=1]()
  %26 : bool = prim::Constant[value=0]()
  %23 : (Dict(str, int), int, bool, int, bool) = prim::TupleConstruct(%d, %e, %25, %x, %26)
  return (%23)
