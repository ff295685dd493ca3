# run: compile, read-containers, constant-propagation, dce
# Elements, entries and lengths of what nothing writes to; lists that are joined and sliced.
def f(x: int, y: Tensor):
    l = [x, 2, 3]
    d = {0.0: x, 1.5: 4}
    e = {"a": y, "b": y + 1}
    first = ([l[0], l[-1]] + [len(l)])[::2]
    return first, d[1.5], d[-0.0], len(d), e["b"], "a" in e, "c" in e
# ---- expect
graph(%x : int,
      %y : Tensor):
  %3 : int = prim::Constant[value=3]()
  %7 : int = prim::Constant[value=4]()
  %11 : int = prim::Constant[value=1]()
  %12 : int = prim::Constant[value=1]()
  %13 : Tensor = aten::add(%y, %11, %12)
  %39 : int = prim::Constant[value=3]()
  %40 : int[] = prim::ListConstruct(%x, %3, %39)
  %23 : int = prim::Constant[value=2]()
  %24 : NoneType = prim::Constant()
  %25 : NoneType = prim::Constant()
  %first : int[] = aten::slice(%40, %24, %25, %23)
  %41 : int = prim::Constant[value=2]()
  %42 : bool = prim::Constant[value=1]()
  %43 : bool = prim::Constant[value=0]()
  %38 : (int[], int, int, int, Tensor, bool, bool) = prim::TupleConstruct(%first, %7, %x, %41, %13, %42, %43)
  return (%38)
