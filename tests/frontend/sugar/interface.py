# run: compile
@torch.jit.interface
class Shape:
    def area(self, scale: float = 1.0) -> float:
        pass

class Square:
    side: float
    def __init__(self, side: float):
        self.side = side
    def area(self, scale: float = 1.0) -> float:
        return self.side * self.side * scale

def f(s: Shape) -> float:
    return s.area(2.0)

def g() -> float:
    return f(Square(3.0))
# ---- expect
# f
graph(%s : Shape):
  %1 : float = prim::Constant[value=2.]()
  %2 : float = prim::CallMethod[name="area"](%s, %1)
  return (%2)
# g
graph():
  %0 : float = prim::Constant[value=3.]()
  %1 : Square = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%1, %0)
  %3 : Function = prim::Constant[name="f"]()
  %4 : float = prim::CallFunction(%3, %1)
  return (%4)
# Square.__init__
graph(%self : Square,
      %side : float):
   = prim::SetAttr[name="side"](%self, %side)
  %2 : NoneType = prim::Constant()
  return (%2)
# Square.area
graph(%self : Square,
      %scale : float):
  %2 : float = prim::GetAttr[name="side"](%self)
  %3 : float = prim::GetAttr[name="side"](%self)
  %4 : float = aten::mul(%2, %3)
  %5 : float = aten::mul(%4, %scale)
  return (%5)
