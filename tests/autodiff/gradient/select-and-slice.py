# run: gradient
def f(x):
  return x[0] * x[1, ::2].sum() + x[:, 1:].mean()
# call: f(torch.randn(2, 3).requires_grad_())
# ---- expect
# f(torch.randn(2, 3).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, requires_grad=1, device=cpu),
      %2 : Float(*, *, requires_grad=1, device=cpu)):
  %17 : int[] = aten::size(%2)
  %16 : int[] = aten::size(%1)
  %3 : int = prim::Constant[value=0]()
  %4 : Float(*, device=cpu) = aten::select(%2, %3, %3)
  %5 : int = prim::Constant[value=1]()
  %6 : Float(*, device=cpu) = aten::select(%1, %3, %5)
  %18 : int[] = aten::size(%6)
  %7 : NoneType = prim::Constant()
  %8 : int = prim::Constant[value=2]()
  %9 : Float(*, device=cpu) = aten::slice(%6, %3, %7, %7, %8)
  %19 : int[] = aten::size(%9)
  %10 : Float(device=cpu) = aten::sum(%9, %7)
  %11 : Float(*, device=cpu) = aten::mul(%4, %10)
  %20 : int[] = aten::size(%11)
  %12 : Float(*, *, device=cpu) = aten::slice(%0, %3, %7, %7, %5)
  %21 : int[] = aten::size(%12)
  %13 : Float(*, *, device=cpu) = aten::slice(%12, %5, %5, %7, %5)
  %23 : int = aten::numel(%13)
  %22 : int[] = aten::size(%13)
  %14 : Float(device=cpu) = aten::mean(%13, %7)
  %24 : int[] = aten::size(%14)
  %15 : Float(*, device=cpu) = aten::add(%11, %14, %5)
  return (%15)
# keeps %4, %10, %16, %17, %18, %19, %20, %21, %22, %23, %24
# backward, of %15 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %59 : Float(*, device=cpu),
      %60 : Float(device=cpu),
      %61 : int[],
      %62 : int[],
      %63 : int[],
      %64 : int[],
      %65 : int[],
      %66 : int[],
      %67 : int[],
      %68 : int,
      %69 : int[]):
  %34 : int = prim::Constant[value=2]()
  %33 : int = prim::Constant[value=0]()
  %18 : int = prim::Constant[value=9223372036854775807]()
  %14 : int = prim::Constant[value=1]()
  %9 : bool = prim::Constant[value=0]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %65)
  %6 : Tensor() = aten::_grad_sum_to_size(%0, %69)
  %10 : Tensor = aten::expand(%6, %67, %9)
  %12 : Tensor(*, *) = aten::div(%10, %68)
  %19 : Tensor(*, *) = aten::slice_backward(%12, %66, %14, %14, %18, %14)
  %22 : Tensor = aten::mul(%3, %60)
  %23 : int[] = aten::size(%59)
  %24 : Tensor(*) = aten::_grad_sum_to_size(%22, %23)
  %25 : Tensor = aten::mul(%3, %59)
  %26 : int[] = aten::size(%60)
  %27 : Tensor() = aten::_grad_sum_to_size(%25, %26)
  %31 : Tensor(*) = aten::expand(%27, %64, %9)
  %38 : Tensor(*) = aten::slice_backward(%31, %63, %33, %33, %18, %34)
  %43 : Tensor(*, *) = aten::select_backward(%38, %61, %33, %14)
  %48 : Tensor(*, *) = aten::select_backward(%24, %62, %33, %33)
  %49 : (Tensor(*, *), Tensor(*, *), Tensor(*, *)) = prim::TupleConstruct(%19, %43, %48)
  return (%49)
