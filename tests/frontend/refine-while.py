# run: compile
def f(x: Optional[int]):
  while x is not None:
    x = x - 1 if x > 0 else None
  return x
# ---- expect
graph(%x.1 : int?):
  %1 : int = prim::Constant[value=9223372036854775807]()
  %2 : NoneType = prim::Constant()
  %3 : bool = aten::__isnot__(%x.1, %2)
  %x : int? = prim::Loop(%1, %3, %x.1)
    block0(%4 : int, %x.2 : int?):
      %x.3 : int = prim::unchecked_cast(%x.2)
      %7 : int = prim::Constant[value=0]()
      %8 : bool = aten::gt(%x.3, %7)
      %x.4 : int? = prim::If(%8)
        block0():
          %9 : int = prim::Constant[value=1]()
          %10 : int = aten::sub(%x.3, %9)
          -> (%10)
        block1():
          %11 : NoneType = prim::Constant()
          -> (%11)
      %13 : NoneType = prim::Constant()
      %14 : bool = aten::__isnot__(%x.4, %13)
      -> (%14, %x.4)
  return (%x)
