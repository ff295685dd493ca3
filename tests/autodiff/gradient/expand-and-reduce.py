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
      %46 : int[],
      %47 : int[],
      %48 : int[],
      %49 : int[],
      %50 : int[],
      %51 : int[],
      %52 : int[],
      %53 : int[]):
  %size.1 : int = prim::Constant[value=1]()
  %10 : bool = prim::Constant[value=0]()
  %8 : int = prim::Constant[value=0]()
  %3 : Tensor(*) = aten::_grad_sum_to_size(%0, %52)
  %6 : Tensor(*) = aten::_grad_sum_to_size(%0, %53)
  %11 : Tensor = aten::expand(%6, %46, %10)
  %37 : int = aten::__getitem__(%46, %8)
  %size.3 : int = aten::mul(%size.1, %37)
  %15 : Tensor(*) = aten::div(%11, %size.3)
  %18 : Tensor(*) = aten::_grad_sum_to_size(%3, %50)
  %21 : Tensor() = aten::_grad_sum_to_size(%3, %51)
  %25 : Tensor(*) = aten::expand(%21, %47, %10)
  %x.3 : Tensor = aten::unsqueeze(%18, %8)
  %31 : Tensor(*, *) = aten::expand(%x.3, %49, %10)
  %34 : Tensor(*) = aten::_grad_sum_to_size(%31, %48)
  %35 : (Tensor(*), Tensor(*), Tensor(*)) = prim::TupleConstruct(%15, %25, %34)
  return (%35)
