# run: gradient
def f(x):
  return x.expand(4, 3).sum(0) + x.sum() + x.mean(0, keepdim=True)
# call: f(torch.randn(3).requires_grad_())
# ---- expect
# f(torch.randn(3).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %2 : Float(*, requires_grad=1, device=cpu),
      %3 : int[]):
  %19 : int[] = aten::size(%2)
  %18 : int[] = aten::size(%1)
  %17 : int[] = aten::size(%0)
  %4 : bool = prim::Constant[value=0]()
  %5 : Float(*, *, device=cpu) = aten::expand(%2, %3, %4)
  %20 : int[] = aten::size(%5)
  %6 : int = prim::Constant[value=0]()
  %7 : int[] = prim::ListConstruct(%6)
  %8 : NoneType = prim::Constant()
  %9 : Float(*, device=cpu) = aten::sum(%5, %7, %4, %8)
  %21 : int[] = aten::size(%9)
  %10 : Float(device=cpu) = aten::sum(%1, %8)
  %22 : int[] = aten::size(%10)
  %11 : int = prim::Constant[value=1]()
  %12 : Float(*, device=cpu) = aten::add(%9, %10, %11)
  %23 : int[] = aten::size(%12)
  %13 : int[] = prim::ListConstruct(%6)
  %14 : bool = prim::Constant[value=1]()
  %15 : Float(*, device=cpu) = aten::mean(%0, %13, %14, %8)
  %24 : int[] = aten::size(%15)
  %16 : Float(*, device=cpu) = aten::add(%12, %15, %11)
  return (%16)
# keeps %17, %18, %19, %20, %21, %22, %23, %24
# backward, of %16 with respect to %0, %1, %2
graph(%0 : Float(*, device=cpu),
      %44 : int[],
      %45 : int[],
      %46 : int[],
      %47 : int[],
      %48 : int[],
      %49 : int[],
      %50 : int[],
      %51 : int[]):
  %10 : bool = prim::Constant[value=0]()
  %8 : int = prim::Constant[value=0]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %50)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %51)
  %11 : Tensor = aten::expand(%6, %44, %10)
  %35 : int = aten::__getitem__(%44, %8)
  %13 : Tensor(*) = aten::div(%11, %35)
  %16 : Tensor(*) = aten::_grad_sum_to_size(%3, %48)
  %19 : Tensor() = aten::_grad_sum_to_size(%3, %49)
  %23 : Tensor(*) = aten::expand(%19, %45, %10)
  %x.3 : Tensor = aten::unsqueeze(%16, %8)
  %29 : Tensor(*, *) = aten::expand(%x.3, %47, %10)
  %32 : Tensor(*) = aten::_grad_sum_to_size(%29, %46)
  %33 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%13, %23, %32)
  return (%33)
