# run: compile, remove-list-mutation, constant-propagation, dce
def f(x: int):
    l = [x]
    l.append(x + 1)
    l += [3, 4]
    l.extend([l[0] + 5])
    l[0] = 5
    a, b = l[-1], len(l)
    c = l.pop(1)
    l.append(a + b + c)
    return l
# ---- expect
graph(%x : int):
  %2 : int = prim::Constant[value=1]()
  %3 : int = aten::add(%x, %2)
  %5 : int = prim::Constant[value=3]()
  %6 : int = prim::Constant[value=4]()
  %11 : int = prim::Constant[value=5]()
  %12 : int = aten::add(%x, %11)
  %15 : int = prim::Constant[value=5]()
  %29 : int = prim::Constant[value=5]()
  %21 : (int, int) = prim::TupleConstruct(%12, %29)
  %a : int, %b : int = prim::TupleUnpack(%21)
  %26 : int = aten::add(%a, %b)
  %27 : int = aten::add(%26, %3)
  %l.1 : int[] = prim::ListConstruct(%15, %5, %6, %12, %27)
  return (%l.1)
