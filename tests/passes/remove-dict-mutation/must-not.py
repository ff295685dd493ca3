# run: compile, remove-dict-mutation
# A key that is not there raises; unknown keys may be any; a key given twice is one entry.
def f(x: int, k: str, c: bool):
    d = {"a": x}
    a = d["b"]
    e = {k: x}
    e["a"] = 1
    g = {"a": 1, "a": x}
    g["a"] = 2
    h = {"a": 1}
    h[k] = 3
    i = h["a"]
    j = {"a": 1}
    if c:
        j["a"] = 2
    return d, e, g, i, j["a"]
# ---- expect
graph(%x : int,
      %k : str,
      %c : bool):
  %3 : str = prim::Constant[value="a"]()
  %d : Dict(str, int) = prim::DictConstruct(%3, %x)
  %5 : str = prim::Constant[value="b"]()
  %a : int = aten::__getitem__(%d, %5)
  %e : Dict(str, int) = prim::DictConstruct(%k, %x)
  %8 : int = prim::Constant[value=1]()
  %9 : str = prim::Constant[value="a"]()
   = aten::_set_item(%e, %9, %8)
  %11 : str = prim::Constant[value="a"]()
  %12 : int = prim::Constant[value=1]()
  %13 : str = prim::Constant[value="a"]()
  %g : Dict(str, int) = prim::DictConstruct(%11, %12, %13, %x)
  %15 : int = prim::Constant[value=2]()
  %16 : str = prim::Constant[value="a"]()
   = aten::_set_item(%g, %16, %15)
  %18 : str = prim::Constant[value="a"]()
  %19 : int = prim::Constant[value=1]()
  %h : Dict(str, int) = prim::DictConstruct(%18, %19)
  %21 : int = prim::Constant[value=3]()
   = aten::_set_item(%h, %k, %21)
  %23 : str = prim::Constant[value="a"]()
  %i : int = aten::__getitem__(%h, %23)
  %25 : str = prim::Constant[value="a"]()
  %26 : int = prim::Constant[value=1]()
  %j : Dict(str, int) = prim::DictConstruct(%25, %26)
   = prim::If(%c)
    block0():
      %28 : int = prim::Constant[value=2]()
      %29 : str = prim::Constant[value="a"]()
       = aten::_set_item(%j, %29, %28)
      -> ()
    block1():
      -> ()
  %31 : str = prim::Constant[value="a"]()
  %32 : int = aten::__getitem__(%j, %31)
  %33 : (Dict(str, int), Dict(str, int), Dict(str, int), int, int) = prim::TupleConstruct(%d, %e, %g, %i, %32)
  return (%33)
