# run: compile
def f(xs: List[int]):
  return {x: x + 1 for x in xs}
# ---- expect
graph(%xs : int[]):
  %1 : Dict(int, int) = prim::DictConstruct()
  %2 : int = aten::len(%xs)
  %3 : bool = prim::Constant[value=1]()
   = prim::Loop(%2, %3)
    block0(%4 : int):
      %x : int = aten::__getitem__(%xs, %4)
      %6 : int = prim::Constant[value=1]()
      %7 : int = aten::add(%x, %6)
       = aten::_set_item(%1, %x, %7)
      -> (%3)
  return (%1)
