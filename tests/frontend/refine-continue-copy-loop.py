# run: compile
# A copy of a name that `continue` refined keeps its type through a loop that never sets it to None.
def f(xs: List[Optional[int]]):
  total = 0
  for x in xs:
    if x is None:
      continue
    y = x
    for i in range(3):
      y = y + i
    total += y
  return total
# ---- expect
graph(%xs : int?[]):
  %total.1 : int = prim::Constant[value=0]()
  %2 : int = aten::len(%xs)
  %3 : bool = prim::Constant[value=1]()
  %total : int = prim::Loop(%2, %3, %total.1)
    block0(%4 : int, %total.2 : int):
      %x.1 : int? = aten::__getitem__(%xs, %4)
      %7 : NoneType = prim::Constant()
      %8 : bool = aten::__is__(%x.1, %7)
      %total.4 : int = prim::If(%8)
        block0():
          -> (%total.2)
        block1():
          %x : int = prim::unchecked_cast(%x.1)
          %10 : int = prim::Constant[value=3]()
          %11 : bool = prim::Constant[value=1]()
          %y.3 : int = prim::Loop(%10, %11, %x)
            block0(%i : int, %y.1 : int):
              %y.2 : int = aten::add(%y.1, %i)
              -> (%11, %y.2)
          %total.3 : int = aten::add(%total.2, %y.3)
          -> (%total.3)
      -> (%3, %total.4)
  return (%total)
