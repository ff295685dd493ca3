# run: gradient
def f(x, y):
  a, b = torch.cat([x, y * 2]).chunk(2)
  return a * b
# call: f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# ---- expect
# f(torch.randn(2).requires_grad_(), torch.randn(2).requires_grad_())
# forward
graph(%0 : Float(*, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu)):
  %13 : int[] = aten::size(%0)
  %2 : int = prim::Constant[value=2]()
  %3 : Float(*, device=cpu) = aten::mul(%1, %2)
  %14 : int[] = aten::size(%3)
  %4 : Tensor[] = prim::ListConstruct(%0, %3)
  %5 : int = prim::Constant[value=0]()
  %6 : Float(*, device=cpu) = aten::cat(%4, %5)
  %7 : Tensor[] = aten::chunk(%6, %2, %5)
  %a : Float(*, device=cpu), %b : Float(*, device=cpu) = prim::ListUnpack(%7)
  %12 : int[] = aten::size(%b)
  %11 : int[] = aten::size(%a)
  %10 : Float(*, device=cpu) = aten::mul(%a, %b)
  return (%10)
# keeps %a, %b, %11, %12, %13, %14
# backward, of %10 with respect to %0, %1
graph(%0 : Float(*, device=cpu),
      %32 : Float(*, device=cpu),
      %33 : Float(*, device=cpu),
      %34 : int[],
      %35 : int[],
      %36 : int[],
      %37 : int[]):
  %21 : int = prim::Constant[value=2]()
  %10 : int = prim::Constant[value=0]()
  %3 : Tensor = aten::mul(%0, %33)
  %4 : int[] = aten::size(%32)
  %5 : Tensor(*) = aten::_grad_sum_to_size(%3, %4)
  %6 : Tensor = aten::mul(%0, %32)
  %7 : int[] = aten::size(%33)
  %8 : Tensor(*) = aten::_grad_sum_to_size(%6, %7)
  %9 : Tensor[] = prim::ListConstruct(%5, %8)
  %11 : Tensor(*) = aten::cat(%9, %10)
  %25 : int = aten::__getitem__(%36, %10)
  %28 : int = aten::__getitem__(%37, %10)
  %result : int[] = prim::ListConstruct(%25, %28)
  %18 : Tensor[] = aten::split_with_sizes(%11, %result, %10)
  %19 : Tensor(*), %20 : Tensor(*) = prim::ListUnpack(%18)
  %22 : Tensor(*) = aten::mul(%20, %21)
  %23 : (Tensor(*), Tensor(*)) = prim::TupleConstruct(%19, %22)
  return (%23)
