# run: compile, refine-values, constant-propagation, dce
# What the branch that goes on has found out holds after it; a comparison of bools says what they are.
def f(x: int, y: int, z: int, xs: List[int], ys: List[int]):
    if x != 4:
        raise ValueError("x")
    else:
        if y != 8:
            raise ValueError("y")
        else:
            if z == 3:
                pass
            else:
                raise ValueError("z")
    if len(xs) == 5:
        found = True
    else:
        found = len(ys) != 4
    if found != False:
        raise ValueError("ys")
    return x + y * z, len(xs), len(ys)
# ---- expect
graph(%x : int,
      %y : int,
      %z : int,
      %xs : int[],
      %ys : int[]):
  %5 : int = prim::Constant[value=4]()
  %6 : bool = aten::ne(%x, %5)
   = prim::If(%6)
    block0():
      %7 : str = prim::Constant[value="x"]()
      %8 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%7, %8)
      -> ()
    block1():
      %9 : int = prim::Constant[value=8]()
      %10 : bool = aten::ne(%y, %9)
       = prim::If(%10)
        block0():
          %11 : str = prim::Constant[value="y"]()
          %12 : str = prim::Constant[value="builtins.ValueError"]()
           = prim::RaiseException(%11, %12)
          -> ()
        block1():
          %13 : int = prim::Constant[value=3]()
          %14 : bool = aten::eq(%z, %13)
           = prim::If(%14)
            block0():
              -> ()
            block1():
              %15 : str = prim::Constant[value="z"]()
              %16 : str = prim::Constant[value="builtins.ValueError"]()
               = prim::RaiseException(%15, %16)
              -> ()
          -> ()
      -> ()
  %17 : int = aten::len(%xs)
  %18 : int = prim::Constant[value=5]()
  %19 : bool = aten::eq(%17, %18)
  %found : bool = prim::If(%19)
    block0():
      %found.1 : bool = prim::Constant[value=1]()
      -> (%found.1)
    block1():
      %21 : int = aten::len(%ys)
      %22 : int = prim::Constant[value=4]()
      %found.2 : bool = aten::ne(%21, %22)
      -> (%found.2)
  %25 : bool = prim::Constant[value=0]()
  %26 : bool = aten::ne(%found, %25)
   = prim::If(%26)
    block0():
      %27 : str = prim::Constant[value="ys"]()
      %28 : str = prim::Constant[value="builtins.ValueError"]()
       = prim::RaiseException(%27, %28)
      -> ()
    block1():
      -> ()
  %37 : int = prim::Constant[value=4]()
  %39 : int = prim::Constant[value=28]()
  %31 : int = aten::len(%xs)
  %33 : (int, int, int) = prim::TupleConstruct(%39, %31, %37)
  return (%33)
