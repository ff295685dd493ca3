# run: compile, unroll, constant-propagation, dce
# Nested loops unroll from inside; a loop of many turns, or one that may end early, stays.
def f(x: Tensor, n: int):
    for i in range(2):
        for j in range(2):
            x = x + (i * 2 + j)
    for i in range(1000):
        x = x * i
    for i in range(3):
        if n == i:
            break
        n += 1
    return x, n
# ---- expect
graph(%x.1 : Tensor,
      %n.1 : int):
  %79 : int = prim::Constant[value=0]()
  %55 : int = prim::Constant[value=1]()
  %x.4 : Tensor = aten::add(%x.1, %79, %55)
  %81 : int = prim::Constant[value=1]()
  %61 : int = prim::Constant[value=1]()
  %x.9 : Tensor = aten::add(%x.4, %81, %61)
  %83 : int = prim::Constant[value=2]()
  %70 : int = prim::Constant[value=1]()
  %x.11 : Tensor = aten::add(%x.9, %83, %70)
  %85 : int = prim::Constant[value=3]()
  %76 : int = prim::Constant[value=1]()
  %x.12 : Tensor = aten::add(%x.11, %85, %76)
  %17 : int = prim::Constant[value=1000]()
  %18 : bool = prim::Constant[value=1]()
  %x : Tensor = prim::Loop(%17, %18, %x.12)
    block0(%i.2 : int, %x.7 : Tensor):
      %x.8 : Tensor = aten::mul(%x.7, %i.2)
      -> (%18, %x.8)
  %23 : int = prim::Constant[value=3]()
  %24 : bool = prim::Constant[value=1]()
  %n : int = prim::Loop(%23, %24, %n.1)
    block0(%i : int, %n.2 : int):
      %27 : bool = aten::eq(%n.2, %i)
      %n.4 : int, %33 : bool = prim::If(%27)
        block0():
          %31 : bool = prim::Constant[value=0]()
          -> (%n.2, %31)
        block1():
          %28 : int = prim::Constant[value=1]()
          %n.3 : int = aten::add(%n.2, %28)
          %32 : bool = prim::Constant[value=1]()
          -> (%n.3, %32)
      -> (%33, %n.4)
  %35 : (Tensor, int) = prim::TupleConstruct(%x, %n)
  return (%35)
