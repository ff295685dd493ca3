# run: compile
# A loop over range, enumerate or zip counts with the loop's own counter.
def f(xs: List[int], ys: List[str]):
    n = 0
    for i in range(3):
        n += i
    for i in range(1, 9, 2):
        n += i
    for i, (x, y) in enumerate(zip(xs, ys), 1):
        n += i * x + len(y)
    for x in reversed(xs):
        n -= x
    return n
# ---- expect
graph(%xs : int[],
      %ys : str[]):
  %n.1 : int = prim::Constant[value=0]()
  %3 : int = prim::Constant[value=3]()
  %4 : bool = prim::Constant[value=1]()
  %n.4 : int = prim::Loop(%3, %4, %n.1)
    block0(%i.1 : int, %n.2 : int):
      %n.3 : int = aten::add(%n.2, %i.1)
      -> (%4, %n.3)
  %9 : int = prim::Constant[value=1]()
  %10 : int = prim::Constant[value=9]()
  %11 : int = prim::Constant[value=2]()
  %12 : int = aten::__range_length(%9, %10, %11)
  %13 : bool = prim::Constant[value=1]()
  %n.7 : int = prim::Loop(%12, %13, %n.4)
    block0(%14 : int, %n.5 : int):
      %i.2 : int = aten::__derive_index(%14, %9, %11)
      %n.6 : int = aten::add(%n.5, %i.2)
      -> (%13, %n.6)
  %19 : int = prim::Constant[value=1]()
  %20 : int = aten::len(%xs)
  %21 : int = aten::len(%ys)
  %22 : int[] = prim::ListConstruct(%20, %21)
  %23 : int = prim::min(%22)
  %24 : bool = prim::Constant[value=1]()
  %n.10 : int = prim::Loop(%23, %24, %n.7)
    block0(%25 : int, %n.8 : int):
      %27 : int = prim::Constant[value=1]()
      %i : int = aten::__derive_index(%25, %19, %27)
      %x.1 : int = aten::__getitem__(%xs, %25)
      %y : str = aten::__getitem__(%ys, %25)
      %31 : int = aten::mul(%i, %x.1)
      %32 : int = aten::len(%y)
      %33 : int = aten::add(%31, %32)
      %n.9 : int = aten::add(%n.8, %33)
      -> (%24, %n.9)
  %36 : int = aten::len(%xs)
  %37 : int = prim::Constant[value=1]()
  %38 : int = aten::sub(%36, %37)
  %39 : int = aten::len(%xs)
  %40 : bool = prim::Constant[value=1]()
  %n : int = prim::Loop(%39, %40, %n.10)
    block0(%41 : int, %n.11 : int):
      %43 : int = aten::sub(%38, %41)
      %x : int = aten::__getitem__(%xs, %43)
      %n.12 : int = aten::sub(%n.11, %x)
      -> (%40, %n.12)
  return (%n)
