# run: compile, dce
def f(c: bool, n: int):
    a, b = n, n
    if c:
        a = n + 1
        b = n + 2
    return b
# ---- expect
graph(%c : bool,
      %n : int):
  %2 : (int, int) = prim::TupleConstruct(%n, %n)
  %a.1 : int, %b.1 : int = prim::TupleUnpack(%2)
  %b : int = prim::If(%c)
    block0():
      %7 : int = prim::Constant[value=2]()
      %b.2 : int = aten::add(%n, %7)
      -> (%b.2)
    block1():
      -> (%b.1)
  return (%b)
