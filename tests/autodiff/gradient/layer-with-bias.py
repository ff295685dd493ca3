# run: gradient
# The example of docs/decisions/0008-gradients.md.
def f(x, w, b):
  h = x @ w
  h += b
  return torch.relu(h).sum()
# call: f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
# ---- expect
# f(torch.ones(2, 3), torch.ones(3, 2).requires_grad_(), torch.ones(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %x : Float(*, *, requires_grad=0, device=cpu)):
  %10 : bool = cresset::is_column_major(%1)
  %9 : int[] = aten::size(%0)
  %h.1 : Float(*, *, device=cpu) = aten::matmul(%x, %1)
  %11 : int[] = aten::size(%h.1)
  %4 : int = prim::Constant[value=1]()
  %h : Float(*, *, device=cpu) = cresset::add(%h.1, %0, %4)
  %6 : Float(*, *, device=cpu) = aten::relu(%h)
  %7 : NoneType = prim::Constant()
  %8 : Float(device=cpu) = aten::sum(%6, %7)
  return (%8)
# keeps %x, %6, %9, %10, %11
# backward, of %8 with respect to %0, %1
graph(%0 : Float(device=cpu),
      %22 : Float(*, *, requires_grad=0, device=cpu),
      %23 : Float(*, *, device=cpu),
      %24 : int[],
      %25 : bool,
      %26 : int[]):
  %5 : int = prim::Constant[value=0]()
  %3 : bool = prim::Constant[value=0]()
  %2 : int[] = aten::size(%23)
  %4 : Tensor(*, *) = aten::expand(%0, %2, %3)
  %6 : Tensor(*, *) = aten::threshold_backward(%4, %23, %5)
  %9 : Tensor(*, *) = aten::_grad_sum_to_size(%6, %26)
  %12 : Tensor(*) = aten::_grad_sum_to_size(%6, %24)
  %15 : Tensor = aten::t(%22)
  %17 : Tensor(*, *) = cresset::mm(%15, %9, %25)
  %18 : (Tensor(*), Tensor(*, *)) = prim::TupleConstruct(%12, %17)
  return (%18)
