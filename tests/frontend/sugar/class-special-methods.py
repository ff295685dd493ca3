# run: compile
class Bag:
    items: List[int]
    def __init__(self) -> None:
        self.items = [1]
    def __len__(self) -> int:
        return len(self.items)
    def __getitem__(self, i: int) -> int:
        return self.items[i]
    def __setitem__(self, i: int, x: int) -> None:
        self.items[i] = x
    def __contains__(self, x: int) -> bool:
        return x in self.items
    def __call__(self, x: int) -> int:
        return x

def f(b: Bag):
    b[0] = 4
    return len(b), b[0], 3 in b, b(7)
# ---- expect
# f
graph(%b : Bag):
  %1 : int = prim::Constant[value=4]()
  %2 : int = prim::Constant[value=0]()
  %3 : NoneType = prim::CallMethod[name="__setitem__"](%b, %2, %1)
  %4 : int = prim::CallMethod[name="__len__"](%b)
  %5 : int = prim::Constant[value=0]()
  %6 : int = prim::CallMethod[name="__getitem__"](%b, %5)
  %7 : int = prim::Constant[value=3]()
  %8 : bool = prim::CallMethod[name="__contains__"](%b, %7)
  %9 : int = prim::Constant[value=7]()
  %10 : int = prim::CallMethod[name="__call__"](%b, %9)
  %11 : (int, int, bool, int) = prim::TupleConstruct(%4, %6, %8, %10)
  return (%11)
# Bag.__init__
graph(%self : Bag):
  %1 : int = prim::Constant[value=1]()
  %2 : int[] = prim::ListConstruct(%1)
   = prim::SetAttr[name="items"](%self, %2)
  %3 : NoneType = prim::Constant()
  return (%3)
# Bag.__len__
graph(%self : Bag):
  %1 : int[] = prim::GetAttr[name="items"](%self)
  %2 : int = aten::len(%1)
  return (%2)
# Bag.__getitem__
graph(%self : Bag,
      %i : int):
  %2 : int[] = prim::GetAttr[name="items"](%self)
  %3 : int = aten::__getitem__(%2, %i)
  return (%3)
# Bag.__setitem__
graph(%self : Bag,
      %i : int,
      %x : int):
  %3 : int[] = prim::GetAttr[name="items"](%self)
  %4 : int[] = aten::_set_item(%3, %i, %x)
  %5 : NoneType = prim::Constant()
  return (%5)
# Bag.__contains__
graph(%self : Bag,
      %x : int):
  %2 : int[] = prim::GetAttr[name="items"](%self)
  %3 : bool = aten::__contains__(%2, %x)
  return (%3)
# Bag.__call__
graph(%self : Bag,
      %x : int):
  return (%x)
