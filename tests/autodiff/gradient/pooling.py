# run: gradient
def f(x):
  return torch.max_pool2d(x * 2, [2, 2]) + torch.avg_pool2d(x, [2, 2])
# call: f(torch.randn(1, 1, 4, 4).requires_grad_())
# ---- expect
# f(torch.randn(1, 1, 4, 4).requires_grad_())
# forward
graph(%0 : Float(*, *, *, *, requires_grad=1, device=cpu),
      %1 : Float(*, *, *, *, requires_grad=1, device=cpu)):
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, *, *, *, device=cpu) = aten::mul(%1, %2)
  %4 : int[] = prim::ListConstruct(%2, %2)
  %5 : int[] = prim::Constant[value=annotate(List[int], [])]()
  %6 : int[] = prim::Constant[value=[0, 0]]()
  %7 : int[] = prim::Constant[value=[1, 1]]()
  %8 : bool = prim::Constant[value=0]()
  %9 : Float(*, *, *, *, device=cpu), %10 : Long(*, *, *, *, requires_grad=0, device=cpu) = aten::max_pool2d_with_indices(%3, %4, %5, %6, %7, %8)
  %18 : int[] = aten::size(%9)
  %11 : int[] = prim::Constant[value=annotate(List[int], [])]()
  %12 : int[] = prim::Constant[value=[0, 0]]()
  %13 : bool = prim::Constant[value=1]()
  %14 : NoneType = prim::Constant()
  %15 : Float(*, *, *, *, device=cpu) = aten::avg_pool2d(%0, %4, %11, %12, %8, %13, %14)
  %19 : int[] = aten::size(%15)
  %16 : int = prim::Constant[value=1]()
  %17 : Float(*, *, *, *, device=cpu) = aten::add(%9, %15, %16)
  return (%17)
# keeps %0, %3, %10, %18, %19
# backward, of %17 with respect to %0, %1
graph(%0 : Float(*, *, *, *, device=cpu),
      %32 : Float(*, *, *, *, requires_grad=1, device=cpu),
      %33 : Float(*, *, *, *, device=cpu),
      %34 : Long(*, *, *, *, requires_grad=0, device=cpu),
      %35 : int[],
      %36 : int[]):
  %15 : NoneType = prim::Constant()
  %14 : bool = prim::Constant[value=1]()
  %13 : bool = prim::Constant[value=0]()
  %10 : int = prim::Constant[value=2]()
  %3 : Tensor(*, *, *, *) = aten::_grad_sum_to_size(%0, %35)
  %6 : Tensor(*, *, *, *) = aten::_grad_sum_to_size(%0, %36)
  %8 : int[] = prim::Constant[value=annotate(List[int], [])]()
  %9 : int[] = prim::Constant[value=[0, 0]]()
  %12 : int[] = prim::ListConstruct(%10, %10)
  %16 : Tensor(*, *, *, *) = aten::avg_pool2d_backward(%6, %32, %12, %8, %9, %13, %14, %15)
  %18 : int[] = prim::Constant[value=annotate(List[int], [])]()
  %19 : int[] = prim::Constant[value=[0, 0]]()
  %20 : int[] = prim::Constant[value=[1, 1]]()
  %24 : int[] = prim::ListConstruct(%10, %10)
  %26 : Tensor(*, *, *, *) = aten::max_pool2d_with_indices_backward(%3, %33, %24, %18, %19, %20, %13, %34)
  %28 : Tensor(*, *, *, *) = aten::mul(%26, %10)
  %29 : (Tensor(*, *, *, *), Tensor(*, *, *, *)) = prim::TupleConstruct(%16, %28)
  return (%29)
