# run: compile, peephole, dce
# There are as many gradients as tensors that they are asked for, unless something changes the list.
def f(x: Tensor, l: List[Tensor]):
    y = (x * x).sum()
    g = torch.autograd.grad([y], [x, y], allow_unused=True)
    h = torch.autograd.grad([y], l)
    n = len(h)
    h.append(None)
    return len(g), g, n, h
# ---- expect
graph(%x : Tensor,
      %l : Tensor[]):
  %2 : Tensor = aten::mul(%x, %x)
  %3 : NoneType = prim::Constant()
  %y : Tensor = aten::sum(%2, %3)
  %5 : Tensor[] = prim::ListConstruct(%y)
  %6 : Tensor[] = prim::ListConstruct(%x, %y)
  %7 : bool = prim::Constant[value=1]()
  %8 : NoneType = prim::Constant()
  %9 : NoneType = prim::Constant()
  %10 : bool = prim::Constant[value=0]()
  %g : Tensor?[] = aten::grad(%5, %6, %8, %9, %10, %7)
  %12 : Tensor[] = prim::ListConstruct(%y)
  %13 : NoneType = prim::Constant()
  %14 : NoneType = prim::Constant()
  %15 : bool = prim::Constant[value=0]()
  %16 : bool = prim::Constant[value=0]()
  %h : Tensor?[] = aten::grad(%12, %l, %13, %14, %15, %16)
  %n : int = aten::len(%h)
  %19 : NoneType = prim::Constant()
  %20 : Tensor?[] = aten::append(%h, %19)
  %23 : int = aten::len(%6)
  %22 : (int, Tensor?[], int, Tensor?[]) = prim::TupleConstruct(%23, %g, %n, %h)
  return (%22)
