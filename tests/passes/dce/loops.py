# run: compile, dce
# A `while` may never end, so it stays; a `for` that computes nothing needed goes.
def f(n: int):
    a = 0
    for i in range(n):
        a = a + i
    b = n
    c = 0
    while b > 0:
        b = b - 1
        c = c + 1
    return n
# ---- expect
graph(%n : int):
  %8 : int = prim::Constant[value=9223372036854775807]()
  %9 : int = prim::Constant[value=0]()
  %10 : bool = aten::gt(%n, %9)
  %b : int = prim::Loop(%8, %10, %n)
    block0(%11 : int, %b.1 : int):
      %14 : int = prim::Constant[value=1]()
      %b.2 : int = aten::sub(%b.1, %14)
      %18 : int = prim::Constant[value=0]()
      %19 : bool = aten::gt(%b.2, %18)
      -> (%19, %b.2)
  return (%n)
