# run: compile, remove-list-mutation, dce
def f(x, c: bool):
  l = [x]
  if c:
    l.append(x + 1)
  return len(l), l[0]
# ---- expect
graph(%x : Tensor,
      %c : bool):
  %l : Tensor[] = prim::ListConstruct(%x)
   = prim::If(%c)
    block0():
      %3 : int = prim::Constant[value=1]()
      %4 : int = prim::Constant[value=1]()
      %5 : Tensor = aten::add(%x, %3, %4)
      %6 : Tensor[] = aten::append(%l, %5)
      -> ()
    block1():
      -> ()
  %7 : int = aten::len(%l)
  %8 : int = prim::Constant[value=0]()
  %9 : Tensor = aten::__getitem__(%l, %8)
  %10 : (int, Tensor) = prim::TupleConstruct(%7, %9)
  return (%10)
