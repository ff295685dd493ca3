# run: compile, remove-list-mutation, remove-list-mutation, dce
# Lists of known elements; one that is written to stays, and a step that is not known.
def f(a: int, b: int, n: int):
  xs = [a, b, 3]
  ys = xs[1:] + [4]
  zs = ys + xs
  us = [a, b]
  vs = us[:1]
  us.append(n)
  return zs[0], zs[-1], len(ys), xs[::2], xs[-2:], xs[::n], vs, us, [a, b][5:]
# ---- expect
graph(%a : int,
      %b : int,
      %n : int):
  %3 : int = prim::Constant[value=3]()
  %xs : int[] = prim::ListConstruct(%a, %b, %3)
  %9 : int = prim::Constant[value=4]()
  %ys : int[] = prim::ListConstruct(%b, %3, %9)
  %zs : int[] = aten::add(%ys, %xs)
  %us : int[] = prim::ListConstruct(%a, %b)
  %14 : int = prim::Constant[value=1]()
  %15 : NoneType = prim::Constant()
  %16 : int = prim::Constant[value=1]()
  %vs : int[] = aten::slice(%us, %15, %14, %16)
  %18 : int[] = aten::append(%us, %n)
  %19 : int = prim::Constant[value=0]()
  %20 : int = aten::__getitem__(%zs, %19)
  %21 : int = prim::Constant[value=-1]()
  %22 : int = aten::__getitem__(%zs, %21)
  %23 : int = aten::len(%ys)
  %42 : int[] = prim::ListConstruct(%a, %3)
  %43 : int[] = prim::ListConstruct(%b, %3)
  %32 : NoneType = prim::Constant()
  %33 : NoneType = prim::Constant()
  %34 : int[] = aten::slice(%xs, %32, %33, %n)
  %44 : int[] = prim::ListConstruct()
  %40 : (int, int, int, int[], int[], int[], int[], int[], int[]) = prim::TupleConstruct(%20, %22, %23, %42, %43, %34, %vs, %us, %44)
  return (%40)
