# run: gradient
def f(x, y):
  return (x @ y).relu()
# call: f(torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# call: f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_())
# call: f(torch.randn(4, 2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu)):
  %2 : Float(*, *, device=cpu) = aten::matmul(%0, %1)
  %3 : Float(*, *, device=cpu) = aten::relu(%2)
  return (%3)
# keeps %0, %1, %3
# backward, of %3 with respect to %0, %1
graph(%0 : Float(*, *, device=cpu),
      %13 : Float(*, *, requires_grad=1, device=cpu),
      %14 : Float(*, *, requires_grad=1, device=cpu),
      %15 : Float(*, *, device=cpu)):
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor(*, *) = aten::threshold_backward(%0, %15, %2)
  %6 : Tensor = aten::t(%14)
  %7 : bool = cresset::is_column_major(%13)
  %8 : Tensor(*, *) = cresset::mm(%3, %6, %7)
  %9 : Tensor = aten::t(%13)
  %10 : bool = cresset::is_column_major(%14)
  %11 : Tensor(*, *) = cresset::mm(%9, %3, %10)
  %12 : (Tensor(*, *), Tensor(*, *)) = prim::TupleConstruct(%8, %11)
  return (%12)
# f(torch.randn(3).requires_grad_(), torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %2 : Float(device=cpu) = aten::matmul(%0, %1)
  %3 : Float(device=cpu) = aten::relu(%2)
  return (%3)
# keeps %0, %1, %3
# backward, of %3 with respect to %0, %1
graph(%0 : Float(device=cpu),
      %9 : Float(*, requires_grad=1, device=cpu),
      %10 : Float(*, requires_grad=1, device=cpu),
      %11 : Float(device=cpu)):
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor() = aten::threshold_backward(%0, %11, %2)
  %5 : Tensor(*) = aten::mul(%3, %10)
  %7 : Tensor(*) = aten::mul(%3, %9)
  %8 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%5, %7)
  return (%8)
# f(torch.randn(4, 2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %2 : Float(*, *, *, requires_grad=1, device=cpu),
      %3 : int[],
      %7 : int,
      %8 : int):
  %13 : int[] = aten::size(%2)
  %flat : Float(*, *, device=cpu) = aten::reshape(%2, %3)
  %5 : int = prim::Constant[value=1]()
  %6 : int = aten::size(%1, %5)
  %sizes : int[] = prim::ListConstruct(%7, %8, %6)
  %10 : Float(*, *, device=cpu) = aten::mm(%flat, %0)
  %14 : int[] = aten::size(%10)
  %11 : Float(*, *, *, device=cpu) = aten::_unsafe_view(%10, %sizes)
  %12 : Float(*, *, *, device=cpu) = aten::relu(%11)
  return (%12)
# keeps %0, %flat, %12, %13, %14
# backward, of %12 with respect to %0, %2
graph(%0 : Float(*, *, *, device=cpu),
      %21 : Float(*, *, requires_grad=1, device=cpu),
      %22 : Float(*, *, device=cpu),
      %23 : Float(*, *, *, device=cpu),
      %24 : int[],
      %25 : int[]):
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor(*, *, *) = aten::threshold_backward(%0, %23, %2)
  %6 : Tensor(*, *) = aten::reshape(%3, %25)
  %9 : Tensor = aten::t(%21)
  %10 : bool = cresset::is_column_major(%22)
  %11 : Tensor(*, *) = cresset::mm(%6, %9, %10)
  %12 : Tensor = aten::t(%22)
  %13 : bool = cresset::is_column_major(%21)
  %14 : Tensor(*, *) = cresset::mm(%12, %6, %13)
  %17 : Tensor(*, *, *) = aten::reshape(%11, %24)
  %18 : (Tensor(*, *), Tensor(*, *, *)) = prim::TupleConstruct(%14, %17)
  return (%18)
