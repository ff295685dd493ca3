# run: gradient
def f(x, w, b):
  return torch.conv2d(x, w, b).relu()
# call: f(torch.randn(1, 1, 3, 3), torch.randn(1, 1, 2, 2).requires_grad_(), torch.randn(1).requires_grad_())
# ---- expect
# f(torch.randn(1, 1, 3, 3), torch.randn(1, 1, 2, 2).requires_grad_(), torch.randn(1).requires_grad_())
# forward
graph(%0 : Float(*, *, *, *, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %x : Float(*, *, *, *, requires_grad=0, device=cpu)):
  %3 : int[] = prim::Constant[value=[1, 1]]()
  %4 : int[] = prim::Constant[value=[0, 0]]()
  %5 : int[] = prim::Constant[value=[1, 1]]()
  %6 : int = prim::Constant[value=1]()
  %7 : Float(*, *, *, *, device=cpu) = aten::conv2d(%x, %0, %1, %3, %4, %5, %6)
  %8 : Float(*, *, *, *, device=cpu) = aten::relu(%7)
  return (%8)
# keeps %0, %x, %8
# backward, of %8 with respect to %0, %1
graph(%0 : Float(*, *, *, *, device=cpu),
      %24 : Float(*, *, *, *, requires_grad=1, device=cpu),
      %25 : Float(*, *, *, *, requires_grad=0, device=cpu),
      %26 : Float(*, *, *, *, device=cpu)):
  %11 : bool = prim::Constant[value=1]()
  %10 : bool = prim::Constant[value=0]()
  %9 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor(*, *, *, *) = aten::threshold_backward(%0, %26, %2)
  %6 : int[] = prim::Constant[value=[1, 1]]()
  %7 : int[] = prim::Constant[value=[0, 0]]()
  %8 : int[] = prim::Constant[value=[1, 1]]()
  %13 : bool[] = prim::ListConstruct(%10, %11, %11)
  %16 : int[] = prim::ListConstruct(%2)
  %18 : int = aten::size(%3, %9)
  %19 : int[] = prim::ListConstruct(%18)
  %x : Tensor, %w : Tensor(*, *, *, *), %b : Tensor(*) = aten::convolution_backward(%3, %25, %24, %19, %6, %7, %8, %10, %16, %9, %13)
  %23 : (Tensor(*, *, *, *), Tensor(*)) = prim::TupleConstruct(%w, %b)
  return (%23)
