# run: gradient
def f(x, w, b):
  return torch.nn.functional.linear(x, w, b).tanh()
# call: f(torch.randn(2, 3), torch.randn(4, 3).requires_grad_(), torch.randn(4).requires_grad_())
# ---- expect
# f(torch.randn(2, 3), torch.randn(4, 3).requires_grad_(), torch.randn(4).requires_grad_())
# forward
graph(%0 : Float(*, *, requires_grad=1, device=cpu),
      %1 : Float(*, requires_grad=1, device=cpu),
      %x : Float(*, *, requires_grad=0, device=cpu)):
  %6 : int[] = aten::size(%1)
  %5 : bool = cresset::is_row_major(%0)
  %3 : Float(*, *, device=cpu) = aten::linear(%x, %0, %1)
  %4 : Float(*, *, device=cpu) = aten::tanh(%3)
  return (%4)
# keeps %x, %4, %5, %6
# backward, of %4 with respect to %0, %1
graph(%0 : Float(*, *, device=cpu),
      %17 : Float(*, *, requires_grad=0, device=cpu),
      %18 : Float(*, *, device=cpu),
      %19 : bool,
      %20 : int[]):
  %2 : Tensor(*, *) = aten::tanh_backward(%0, %18)
  %8 : Tensor = aten::t(%17)
  %10 : Tensor = cresset::mm(%8, %2, %19)
  %11 : Tensor(*, *) = aten::t(%10)
  %13 : Tensor(*) = aten::_grad_sum_to_size(%2, %20)
  %14 : (Tensor(*, *), Tensor(*)) = prim::TupleConstruct(%11, %13)
  return (%14)
