# run: compile
# Attributes that __init__ assigns, a Final constant, methods with and without an annotated result.
class Counter:
    step: Final[int] = 2
    def __init__(self, start: int):
        self.n = start
        self.log: List[str] = []
    def next(self):
        self.n += self.step
        return self.n

def f():
    c = Counter(3)
    c.n = 5
    return c.next() + Counter.step
# ---- expect
# f
graph():
  %0 : int = prim::Constant[value=3]()
  %c : Counter = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name="__init__"](%c, %0)
  %3 : int = prim::Constant[value=5]()
   = prim::SetAttr[name="n"](%c, %3)
  %4 : int = prim::CallMethod[name="next"](%c)
  %5 : int = prim::Constant[value=2]()
  %6 : int = aten::add(%4, %5)
  return (%6)
# Counter.__init__
graph(%self : Counter,
      %start : int):
   = prim::SetAttr[name="n"](%self, %start)
  %2 : str[] = prim::ListConstruct()
   = prim::SetAttr[name="log"](%self, %2)
  %3 : NoneType = prim::Constant()
  return (%3)
# Counter.next
graph(%self : Counter):
  %1 : int = prim::GetAttr[name="n"](%self)
  %2 : int = prim::Constant[value=2]()
  %3 : int = aten::add(%1, %2)
   = prim::SetAttr[name="n"](%self, %3)
  %4 : int = prim::GetAttr[name="n"](%self)
  return (%4)
