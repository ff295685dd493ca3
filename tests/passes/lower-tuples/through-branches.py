# run: compile, lower-tuples, dce
def f(c: bool, x: int, y: int):
    if c:
        t = (x, y)
    else:
        t = (y, x)
    a, b = t
    for i in range(3):
        p = (a, b)
        a, b = p[1], p[0]
    return a, b
# ---- expect
graph(%c : bool,
      %x : int,
      %y : int):
  %28 : int, %29 : int = prim::If(%c)
    block0():
      -> (%x, %y)
    block1():
      -> (%y, %x)
  %8 : int = prim::Constant[value=3]()
  %9 : bool = prim::Constant[value=1]()
  %a : int, %b : int = prim::Loop(%8, %9, %28, %29)
    block0(%i : int, %a.2 : int, %b.2 : int):
      -> (%9, %b.2, %a.2)
  %23 : (int, int) = prim::TupleConstruct(%a, %b)
  return (%23)
