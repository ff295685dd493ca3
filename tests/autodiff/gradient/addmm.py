# run: gradient
def f(a, x, y):
  return torch.addmm(a, x, y, beta=2, alpha=0.5).relu()
# call: f(torch.randn(2, 2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# ---- expect
# f(torch.randn(2, 2).requires_grad_(), torch.randn(2, 3).requires_grad_(), torch.randn(3, 2).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %2 : Float(*, *, requires_grad=1, device=cpu)):
  %7 : int[] = aten::size(%0)
  %3 : int = prim::Constant[value=2]()
  %4 : float = prim::Constant[value=0.5]()
  %5 : Float(*, *, device=cpu) = aten::addmm(%0, %1, %2, %3, %4)
  %6 : Float(*, *, device=cpu) = aten::relu(%5)
  return (%6)
# keeps %1, %2, %6, %7
# backward, of %6 with respect to %0, %1, %2
graph(%0 : Float(*, *, device=cpu),
      %23 : Float(*, *, requires_grad=1, device=cpu),
      %24 : Float(*, *, requires_grad=1, device=cpu),
      %25 : Float(*, *, device=cpu),
      %26 : int[]):
  %11 : float = prim::Constant[value=0.5]()
  %5 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor(*, *) = aten::threshold_backward(%0, %25, %2)
  %6 : Tensor = aten::mul(%3, %5)
  %8 : Tensor(*, *) = aten::_grad_sum_to_size(%6, %26)
  %12 : Tensor = aten::t(%24)
  %13 : bool = cresset::is_column_major(%23)
  %14 : Tensor = cresset::mm(%3, %12, %13)
  %15 : Tensor(*, *) = aten::mul(%14, %11)
  %17 : Tensor = aten::t(%23)
  %18 : bool = cresset::is_column_major(%24)
  %19 : Tensor = cresset::mm(%17, %3, %18)
  %20 : Tensor(*, *) = aten::mul(%19, %11)
  %21 : (Tensor(*, *), Tensor(*, *), Tensor(*, *)) = prim::TupleConstruct(%8, %15, %20)
  return (%21)
