# run: compile
class A:
    def __init__(self):
        self.x = 1
    def __int__(self) -> int:
        return self.x

def f(x: Tensor, s: str, n: int):
    return int(x), float(s), bool(n), int(n), str(n), int(A()), complex(1, 2), float(), ord(s), min(n, 3), max([1, n]), abs(n)
# ---- expect
# f
graph(%x : Tensor,
      %s : str,
      %n : int):
  %3 : int = aten::Int(%x)
  %4 : float = aten::Float(%s)
  %5 : bool = aten::Bool(%n)
  %6 : str = aten::str(%n)
  %7 : A = prim::CreateObject()
  %8 : NoneType = prim::CallMethod[name="__init__"](%7)
  %9 : int = prim::CallMethod[name="__int__"](%7)
  %10 : int = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=2]()
  %12 : complex = aten::Complex(%10, %11)
  %13 : float = prim::Constant[value=0.]()
  %14 : int = aten::ord(%s)
  %15 : int = prim::Constant[value=3]()
  %16 : int = prim::min(%n, %15)
  %17 : int = prim::Constant[value=1]()
  %18 : int[] = prim::ListConstruct(%17, %n)
  %19 : int = prim::max(%18)
  %20 : int = prim::abs(%n)
  %21 : (int, float, bool, int, str, int, complex, float, int, int, int, int) = prim::TupleConstruct(%3, %4, %5, %n, %6, %9, %12, %13, %14, %16, %19, %20)
  return (%21)
# A.__init__
graph(%self : A):
  %1 : int = prim::Constant[value=1]()
   = prim::SetAttr[name="x"](%self, %1)
  %2 : NoneType = prim::Constant()
  return (%2)
# A.__int__
graph(%self : A):
  %1 : int = prim::GetAttr[name="x"](%self)
  return (%1)
