# run: compile, remove-dict-mutation, dce
from typing import Dict, List

# An argument's entries: known from where they were read or set to where something may change them.
def f(d: Dict[str, Tensor], other: Dict[str, Tensor], x: Tensor, key: str, c: bool):
    a = d["a"] + d["a"]
    d["b"] = x
    b = d["b"] + d["a"]
    if c:
        d["a"] = x
        e = d["b"] + d["a"]
    else:
        e = d["a"]
    after_branch = d["a"] + d["b"]
    other["b"] = a
    after_other = d["b"] + d["a"]
    for i in range(3):
        d["b"] = d["b"] + d["a"]
    after_loop = d["b"] + d["a"]
    x.add_(1)
    after_tensor = d["b"] + d["a"]
    d[key] = x
    after_key = d["b"] + d["a"]
    return a, b, e, after_branch, after_other, after_loop, after_tensor, after_key
# ---- expect
graph(%d : Dict(str, Tensor),
      %other : Dict(str, Tensor),
      %x : Tensor,
      %key : str,
      %c : bool):
  %5 : str = prim::Constant[value="a"]()
  %6 : Tensor = aten::__getitem__(%d, %5)
  %9 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%6, %6, %9)
  %11 : str = prim::Constant[value="b"]()
   = aten::_set_item(%d, %11, %x)
  %17 : int = prim::Constant[value=1]()
  %b : Tensor = aten::add(%x, %6, %17)
  %e : Tensor = prim::If(%c)
    block0():
      %19 : str = prim::Constant[value="a"]()
       = aten::_set_item(%d, %19, %x)
      %25 : int = prim::Constant[value=1]()
      %e.1 : Tensor = aten::add(%x, %x, %25)
      -> (%e.1)
    block1():
      %27 : str = prim::Constant[value="a"]()
      %e.2 : Tensor = aten::__getitem__(%d, %27)
      -> (%e.2)
  %30 : str = prim::Constant[value="a"]()
  %31 : Tensor = aten::__getitem__(%d, %30)
  %34 : int = prim::Constant[value=1]()
  %after_branch : Tensor = aten::add(%31, %x, %34)
  %36 : str = prim::Constant[value="b"]()
   = aten::_set_item(%other, %36, %a)
  %38 : str = prim::Constant[value="b"]()
  %39 : Tensor = aten::__getitem__(%d, %38)
  %42 : int = prim::Constant[value=1]()
  %after_other : Tensor = aten::add(%39, %31, %42)
  %44 : int = prim::Constant[value=3]()
  %45 : bool = prim::Constant[value=1]()
   = prim::Loop(%44, %45)
    block0(%i : int):
      %47 : str = prim::Constant[value="b"]()
      %48 : Tensor = aten::__getitem__(%d, %47)
      %51 : int = prim::Constant[value=1]()
      %52 : Tensor = aten::add(%48, %31, %51)
      %53 : str = prim::Constant[value="b"]()
       = aten::_set_item(%d, %53, %52)
      -> (%45)
  %55 : str = prim::Constant[value="b"]()
  %56 : Tensor = aten::__getitem__(%d, %55)
  %59 : int = prim::Constant[value=1]()
  %after_loop : Tensor = aten::add(%56, %31, %59)
  %61 : int = prim::Constant[value=1]()
  %62 : int = prim::Constant[value=1]()
  %63 : Tensor = aten::add_(%x, %61, %62)
  %68 : int = prim::Constant[value=1]()
  %after_tensor : Tensor = aten::add(%56, %31, %68)
   = aten::_set_item(%d, %key, %x)
  %71 : str = prim::Constant[value="b"]()
  %72 : Tensor = aten::__getitem__(%d, %71)
  %73 : str = prim::Constant[value="a"]()
  %74 : Tensor = aten::__getitem__(%d, %73)
  %75 : int = prim::Constant[value=1]()
  %after_key : Tensor = aten::add(%72, %74, %75)
  %77 : (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %b, %e, %after_branch, %after_other, %after_loop, %after_tensor, %after_key)
  return (%77)
