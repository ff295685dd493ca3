# run: compile
# A copy of a name that `continue` refined takes what the name takes: None too.
def f(xs: List[Optional[int]], n: int):
  for x in xs:
    if x is None:
      continue
    y = x
    if n > 3:
      y = None
    if y is not None:
      n += y
  return n
# ---- expect
graph(%xs : int?[],
      %n.1 : int):
  %2 : int = aten::len(%xs)
  %3 : bool = prim::Constant[value=1]()
  %n : int = prim::Loop(%2, %3, %n.1)
    block0(%4 : int, %n.2 : int):
      %x.1 : int? = aten::__getitem__(%xs, %4)
      %7 : NoneType = prim::Constant()
      %8 : bool = aten::__is__(%x.1, %7)
      %n.5 : int = prim::If(%8)
        block0():
          -> (%n.2)
        block1():
          %x : int = prim::unchecked_cast(%x.1)
          %10 : int = prim::Constant[value=3]()
          %11 : bool = aten::gt(%n.2, %10)
          %y.2 : int? = prim::If(%11)
            block0():
              %y.1 : NoneType = prim::Constant()
              -> (%y.1)
            block1():
              -> (%x)
          %14 : NoneType = prim::Constant()
          %15 : bool = aten::__isnot__(%y.2, %14)
          %n.4 : int = prim::If(%15)
            block0():
              %y.3 : int = prim::unchecked_cast(%y.2)
              %n.3 : int = aten::add(%n.2, %y.3)
              -> (%n.3)
            block1():
              -> (%n.2)
          -> (%n.4)
      -> (%3, %n.5)
  return (%n)
