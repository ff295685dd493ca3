# run: compile
class A:
    def __init__(self, x: int):
        self._x = x
    @property
    def x(self) -> int:
        return self._x
    @x.setter
    def x(self, value: int) -> None:
        self._x = value

def f(a: A):
    a.x = 3
    return a.x
# ---- expect
# f
graph(%a : A):
  %1 : int = prim::Constant[value=3]()
  %2 : NoneType = prim::CallMethod[name="__x_setter"](%a, %1)
  %3 : int = prim::CallMethod[name="__x_getter"](%a)
  return (%3)
# A.__init__
graph(%self : A,
      %x : int):
   = prim::SetAttr[name="_x"](%self, %x)
  %2 : NoneType = prim::Constant()
  return (%2)
# A.__x_getter
graph(%self : A):
  %1 : int = prim::GetAttr[name="_x"](%self)
  return (%1)
# A.__x_setter
graph(%self : A,
      %value : int):
   = prim::SetAttr[name="_x"](%self, %value)
  %2 : NoneType = prim::Constant()
  return (%2)
