# run: plan --autocast --no-grad
# Products of matrices are computed in bfloat16, losses in float32; the rest as its arguments are.
def f(x, w):
  y = torch.mm(x, w)
  return torch.nn.functional.mse_loss(y, y + x), x * 2
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2))
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, requires_grad=0, device=cpu)):
  %7 : int = prim::Constant[value=2]()
  %18 : int = prim::Constant[value=6]()
  %3 : int = prim::Constant[value=1]()
  %10 : int = prim::Constant[value=15]()
  %11 : bool = prim::Constant[value=0]()
  %12 : NoneType = prim::Constant()
  %13 : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %10, %11, %11, %12)
  %17 : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%w, %10, %11, %11, %12)
  %y : BFloat16(*, *, requires_grad=0, device=cpu) = aten::mm[without_autocast=1](%13, %17)
  %4 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%y, %x, %3)
  %21 : Float(*, *, requires_grad=0, device=cpu) = aten::to(%y, %18, %11, %11, %12)
  %6 : Float(requires_grad=0, device=cpu) = aten::mse_loss[without_autocast=1](%21, %4, %3)
  %8 : Float(*, *, requires_grad=0, device=cpu) = aten::mul(%x, %7)
  %9 : (Tensor, Tensor) = prim::TupleConstruct(%6, %8)
  return (%9)
