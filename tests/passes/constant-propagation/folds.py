# run: compile, constant-propagation, dce
# Known numbers, strings and branches fold; a division by zero raises where it stands; huge strings are left alone.
def f(c: bool):
    a = 2 * 3 + 4
    if a > 9:
        b = "x" + str(a)
    else:
        b = "y"
    d = 1 // 0 if c else 1
    e = "ab".ljust(100000000)
    for i in range(0):
        d += 1
    return a, b, d, len(e)
# ---- expect
graph(%c : bool):
  %a : int = prim::Constant[value=10]()
  %b.1 : str = prim::Constant[value="x10"]()
  %d.1 : int = prim::If(%c)
    block0():
      %13 : int = prim::Constant[value=1]()
      %14 : int = prim::Constant[value=0]()
      %15 : int = aten::floordiv(%13, %14)
      -> (%15)
    block1():
      %16 : int = prim::Constant[value=1]()
      -> (%16)
  %18 : str = prim::Constant[value="ab"]()
  %19 : int = prim::Constant[value=100000000]()
  %20 : str = prim::Constant[value=" "]()
  %e : str = aten::ljust(%18, %19, %20)
  %29 : int = aten::len(%e)
  %30 : (int, str, int, int) = prim::TupleConstruct(%a, %b.1, %d.1, %29)
  return (%30)
