# run: compile
class TooSmall(Exception):
    pass

def f(x: int) -> int:
    if x < 0:
        raise ValueError("negative", x)
    if x < 10:
        raise TooSmall("too small")
    return x
# ---- expect
graph(%x : int):
  %1 : int = prim::Constant[value=0]()
  %2 : bool = aten::lt(%x, %1)
   = prim::If(%2)
    block0():
      %3 : str = prim::Constant[value="negative"]()
      %4 : (str, int) = prim::TupleConstruct(%3, %x)
      %5 : str = aten::str(%4)
      %6 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%5, %6)
      -> ()
    block1():
      -> ()
  %7 : int = prim::Constant[value=10]()
  %8 : bool = aten::lt(%x, %7)
   = prim::If(%8)
    block0():
      %9 : str = prim::Constant[value="too small"]()
      %10 : str = prim::Constant[value="TooSmall"]()
       = prim::RaiseException(%9, %10)
      -> ()
    block1():
      -> ()
  return (%x)
