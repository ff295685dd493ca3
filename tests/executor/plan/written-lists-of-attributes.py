# run: plan
# A list that something may write to is read where the program reads it.
class M:
  def __init__(self, dims: List[int]):
    self.dims = dims
def f(m: M, x, more: List[int]):
  y = x * m.dims[0]
  more.append(3)
  return y + m.dims[0]
# call: f(M([1, 2]), torch.ones(2, 3), [2])
# ---- expect
# f(M([1, 2]), torch.ones(2, 3), [2])
graph(%m : M,
      %x : Float(*, *, requires_grad=0, device=cpu),
      %more : int[]):
  %12 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=3]()
  %4 : int = prim::Constant[value=0]()
  %3 : int[] = prim::GetAttr[name="dims"](%m)
  %5 : int = aten::__getitem__(%3, %4)
  %y : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%x, %5)
  %8 : int[] = aten::append(%more, %7)
  %9 : int[] = prim::GetAttr[name="dims"](%m)
  %11 : int = aten::__getitem__(%9, %4)
  %13 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%y, %11, %12)
  return (%13)
