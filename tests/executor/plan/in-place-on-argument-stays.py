# run: plan
def f(x):
  x.add_(1)
  v = x.view(-1)
  v.mul_(2)
  return x
# call: f(torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2))
graph(%x : Float(*, *, device=cpu)):
  %7 : int = prim::Constant[value=2]()
  %4 : int = prim::Constant[value=-1]()
  %1 : int = prim::Constant[value=1]()
  %3 : Float(*, *, device=cpu) = aten::add_(%x, %1, %1)
  %5 : int[] = prim::ListConstruct(%4)
  %v : Float(*, device=cpu) = aten::view(%x, %5)
  %8 : Float(*, device=cpu) = aten::mul_(%v, %7)
  return (%x)
