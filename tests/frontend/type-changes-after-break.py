# run: compile
def f(x: int):
  for i in range(x):
    a = 1.5
    if i > 3:
      break
    a = [i]
    print(a)
  return x
def g(x: int):
  for i in range(x):
    a = 1.5
    if i > 3:
      if i > 5:
        continue
    a = [i]
    print(a)
  return x
# ---- expect
# f
graph(%x : int):
  %1 : bool = prim::Constant[value=1]()
   = prim::Loop(%x, %1)
    block0(%i : int):
      %4 : int = prim::Constant[value=3]()
      %5 : bool = aten::gt(%i, %4)
      %10 : bool = prim::If(%5)
        block0():
          %8 : bool = prim::Constant[value=0]()
          -> (%8)
        block1():
          %a : int[] = prim::ListConstruct(%i)
           = prim::Print(%a)
          %9 : bool = prim::Constant[value=1]()
          -> (%9)
      -> (%10)
  return (%x)
# g
graph(%x : int):
  %1 : bool = prim::Constant[value=1]()
   = prim::Loop(%x, %1)
    block0(%i : int):
      %4 : int = prim::Constant[value=3]()
      %5 : bool = aten::gt(%i, %4)
      %12 : bool = prim::If(%5)
        block0():
          %6 : int = prim::Constant[value=5]()
          %7 : bool = aten::gt(%i, %6)
          %10 : bool = prim::If(%7)
            block0():
              %8 : bool = prim::Constant[value=0]()
              -> (%8)
            block1():
              %9 : bool = prim::Constant[value=1]()
              -> (%9)
          -> (%10)
        block1():
          %11 : bool = prim::Constant[value=1]()
          -> (%11)
       = prim::If(%12)
        block0():
          %a : int[] = prim::ListConstruct(%i)
           = prim::Print(%a)
          -> ()
        block1():
          -> ()
      -> (%1)
  return (%x)
