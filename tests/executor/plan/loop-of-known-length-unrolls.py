# run: plan
def f(x):
  out: List[Tensor] = []
  for i in range(3):
    out.append(x * i)
  return torch.stack(out)
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
graph(%x : Float(*, requires_grad=0, device=cpu)):
  %15 : int = prim::Constant[value=2]()
  %12 : int = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=0]()
  %10 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %9)
  %13 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %12)
  %16 : Float(*, requires_grad=0, device=cpu) = aten::mul(%x, %15)
  %out : Tensor[] = prim::ListConstruct(%10, %13, %16)
  %8 : Float(*, *, requires_grad=0, device=cpu) = aten::stack(%out, %9)
  return (%8)
