# run: compile, pool-constants, licm
# `n // m` may raise, and the loop may run no turn. In a loop that runs, it moves as long as nothing is before it.
def f(n: int, m: int, l: List[int]):
    a = 0
    for i in range(n):
        a += n * m
        a += n // m
    for i in range(5):
        a += n // m
        print(a)
        a += n % m
    for i in range(5):
        l.append(i)
        a += len(l)
    return a
# ---- expect
graph(%n : int,
      %m : int,
      %l : int[]):
  %12 : int = prim::Constant[value=5]()
  %a.1 : int = prim::Constant[value=0]()
  %4 : bool = prim::Constant[value=1]()
  %7 : int = aten::mul(%n, %m)
  %a.5 : int = prim::Loop(%n, %4, %a.1)
    block0(%i.1 : int, %a.2 : int):
      %a.3 : int = aten::add(%a.2, %7)
      %9 : int = aten::floordiv(%n, %m)
      %a.4 : int = aten::add(%a.3, %9)
      -> (%4, %a.4)
  %16 : int = aten::floordiv(%n, %m)
  %a.9 : int = prim::Loop(%12, %4, %a.5)
    block0(%i.2 : int, %a.6 : int):
      %a.7 : int = aten::add(%a.6, %16)
       = prim::Print(%a.7)
      %19 : int = aten::remainder(%n, %m)
      %a.8 : int = aten::add(%a.7, %19)
      -> (%4, %a.8)
  %a : int = prim::Loop(%12, %4, %a.9)
    block0(%i : int, %a.10 : int):
      %26 : int[] = aten::append(%l, %i)
      %27 : int = aten::len(%l)
      %a.11 : int = aten::add(%a.10, %27)
      -> (%4, %a.11)
  return (%a)
