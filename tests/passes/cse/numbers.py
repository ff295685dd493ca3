# run: compile, pool-constants, cse
# In branches too; but not from one branch to the other, nor from a loop to what follows.
def f(n: int, m: int, c: bool):
    a = n * m
    if c:
        b = n * m + n // m
    else:
        b = n // m
    for i in range(3):
        b += n % m
    return a + b + n % m + n // m
# ---- expect
graph(%n : int,
      %m : int,
      %c : bool):
  %10 : bool = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=3]()
  %a : int = aten::mul(%n, %m)
  %b.3 : int = prim::If(%c)
    block0():
      %5 : int = aten::floordiv(%n, %m)
      %b.1 : int = aten::add(%a, %5)
      -> (%b.1)
    block1():
      %b.2 : int = aten::floordiv(%n, %m)
      -> (%b.2)
  %b : int = prim::Loop(%9, %10, %b.3)
    block0(%i : int, %b.4 : int):
      %13 : int = aten::remainder(%n, %m)
      %b.5 : int = aten::add(%b.4, %13)
      -> (%10, %b.5)
  %16 : int = aten::add(%a, %b)
  %17 : int = aten::remainder(%n, %m)
  %18 : int = aten::add(%16, %17)
  %19 : int = aten::floordiv(%n, %m)
  %20 : int = aten::add(%18, %19)
  return (%20)
