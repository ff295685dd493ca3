# run: plan --autocast --no-grad
# A tensor that is written to in between is cast each time.
def f(x, w):
  y = torch.mm(x, w)
  w.add_(1)
  return y, torch.mm(x, w)
# call: f(torch.ones(2, 2), torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2), torch.ones(2, 2))
graph(%x : Float(*, *, requires_grad=0, device=cpu),
      %w : Float(*, *, device=cpu)):
  %3 : int = prim::Constant[value=1]()
  %13 : Device = prim::Constant[value="cpu"]()
  %8 : int = prim::Constant[value=15]()
  %9 : bool = prim::Constant[value=0]()
  %10 : NoneType = prim::Constant()
  %11 : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %8, %9, %9, %10)
  %14 : BFloat16(*, *, device=cpu) = cresset::cached_cast(%w, %8, %13)
  %y : BFloat16(*, *, requires_grad=0, device=cpu) = aten::mm[without_autocast=1](%11, %14)
  %5 : Float(*, *, device=cpu) = aten::add_(%w, %3, %3)
  %18 : BFloat16(*, *, requires_grad=0, device=cpu) = aten::to(%x, %8, %9, %9, %10)
  %21 : BFloat16(*, *, device=cpu) = cresset::cached_cast(%w, %8, %13)
  %6 : BFloat16(*, *, requires_grad=0, device=cpu) = aten::mm[without_autocast=1](%18, %21)
  %7 : (Tensor, Tensor) = prim::TupleConstruct(%y, %6)
  return (%7)
