# run: compile, dce
def f(x, y, l: List[int], d: Dict[str, int]):
  a = x + y
  b = l[0]
  c = d["k"]
  e = len(l)
  g = x.dim()
  return 0
# ---- expect
graph(%x : Tensor,
      %y : Tensor,
      %l : int[],
      %d : Dict(str, int)):
  %4 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %4)
  %6 : int = prim::Constant[value=0]()
  %b : int = aten::__getitem__(%l, %6)
  %8 : str = prim::Constant[value="k"]()
  %c : int = aten::__getitem__(%d, %8)
  %12 : int = prim::Constant[value=0]()
  return (%12)
