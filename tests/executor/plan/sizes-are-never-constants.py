# run: plan
def f(x):
  n = x.size(0)
  if n == 3:
    x = x + 1
  return x.view(n, -1), x.shape[1]
# call: f(torch.ones(3, 2))
# ---- expect
# f(torch.ones(3, 2))
graph(%x.1 : Float(*, *, requires_grad=0, device=cpu)):
  %9 : int = prim::Constant[value=-1]()
  %5 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=3]()
  %1 : int = prim::Constant[value=0]()
  %n : int = aten::size(%x.1, %1)
  %4 : bool = aten::eq(%n, %3)
  %x : Float(*, *, requires_grad=0, device=cpu) = prim::If(%4)
    block0():
      %x.2 : Float(*, *, requires_grad=0, device=cpu) = aten::add(%x.1, %5, %5)
      -> (%x.2)
    block1():
      -> (%x.1)
  %10 : int[] = prim::ListConstruct(%n, %9)
  %11 : Float(*, *, requires_grad=0, device=cpu) = aten::view(%x, %10)
  %16 : int = aten::size(%x, %5)
  %15 : (Tensor, int) = prim::TupleConstruct(%11, %16)
  return (%15)
