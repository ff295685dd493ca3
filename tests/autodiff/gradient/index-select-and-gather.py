# run: gradient
def f(x, i):
  return x.index_select(0, i) * x.gather(0, i.unsqueeze(1))
# call: f(torch.randn(3, 1).requires_grad_(), torch.tensor([0, 2]))
# ---- expect
# f(torch.randn(3, 1).requires_grad_(), torch.tensor([0, 2]))
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %i : Long(*, requires_grad=0, device=cpu)):
  %10 : int[] = aten::size(%1)
  %2 : int = prim::Constant[value=0]()
  %4 : Float(*, *, device=cpu) = aten::index_select(%1, %2, %i)
  %5 : int = prim::Constant[value=1]()
  %6 : Long(*, *, requires_grad=0, device=cpu) = aten::unsqueeze(%i, %5)
  %7 : bool = prim::Constant[value=0]()
  %8 : Float(*, *, device=cpu) = aten::gather(%0, %2, %6, %7)
  %9 : Float(*, *, device=cpu) = aten::mul(%4, %8)
  return (%9)
# keeps %0, %i, %4, %6, %8, %10
# backward, of %9 with respect to %0, %1
graph(%0 : Float(*, *, device=cpu),
      %21 : Float(*, *, requires_grad=1, device=cpu),
      %22 : Long(*, requires_grad=0, device=cpu),
      %23 : Float(*, *, device=cpu),
      %24 : Long(*, *, requires_grad=0, device=cpu),
      %25 : Float(*, *, device=cpu),
      %26 : int[]):
  %12 : bool = prim::Constant[value=0]()
  %11 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::mul(%0, %25)
  %4 : int[] = aten::size(%23)
  %5 : Tensor(*, *) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %23)
  %7 : int[] = aten::size(%25)
  %8 : Tensor(*, *) = aten::_grad_sum_to_size(%6, %7)
  %13 : Tensor(*, *) = aten::gather_backward(%8, %21, %11, %24, %12)
  %18 : Tensor(*, *) = aten::index_select_backward(%5, %26, %11, %22)
  %19 : (Tensor(*, *), Tensor(*, *)) = prim::TupleConstruct(%13, %18)
  return (%19)
