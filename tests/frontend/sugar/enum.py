# run: compile
class Color(Enum):
    RED = 1
    GREEN = 2

def f(c: Color):
    total = 0
    for m in Color:
        total += m.value
    return c == Color.RED, c.name, Color.GREEN.value, total, len(Color)
# ---- expect
graph(%c : Enum<Color>):
  %total.1 : int = prim::Constant[value=0]()
  %2 : Enum<Color>[] = prim::Constant[value=[Color.RED, Color.GREEN]]()
  %3 : int = aten::len(%2)
  %4 : bool = prim::Constant[value=1]()
  %total : int = prim::Loop(%3, %4, %total.1)
    block0(%5 : int, %total.2 : int):
      %m : Enum<Color> = aten::__getitem__(%2, %5)
      %8 : int = prim::EnumValue(%m)
      %total.3 : int = aten::add(%total.2, %8)
      -> (%4, %total.3)
  %11 : Enum<Color> = prim::Constant[value=Color.RED]()
  %12 : bool = aten::eq(%c, %11)
  %13 : str = prim::EnumName(%c)
  %14 : Enum<Color> = prim::Constant[value=Color.GREEN]()
  %15 : int = prim::EnumValue(%14)
  %16 : int = prim::Constant[value=2]()
  %17 : (bool, str, int, int, int) = prim::TupleConstruct(%12, %13, %15, %total, %16)
  return (%17)
