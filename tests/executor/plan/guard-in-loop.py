# run: plan
def f(l: List[Tensor]):
  t = torch.zeros(2)
  for x in l:
    t = t + x * 2
  return t
# call: f([torch.ones(2), torch.ones(2)])
# ---- expect
# f([torch.ones(2), torch.ones(2)])
graph(%l : Tensor[]):
  %15 : int = prim::Constant[value=1]()
  %9 : bool = prim::Constant[value=1]()
  %3 : NoneType = prim::Constant()
  %1 : int = prim::Constant[value=2]()
  %2 : int[] = prim::ListConstruct(%1)
  %t.1 : Float(*, requires_grad=0, device=cpu) = aten::zeros(%2, %3, %3, %3, %3)
  %8 : int = aten::len(%l)
  %t : Float(*, requires_grad=0, device=cpu) = prim::Loop(%8, %9, %t.1)
    block0(%10 : int, %t.2 : Float(*, requires_grad=0, device=cpu)):
      %x : Tensor = aten::__getitem__(%l, %10)
      %18 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%x, %t.2, %10, %8, %l)
      %14 : Float(*, requires_grad=0, device=cpu) = aten::mul(%18, %1)
      %t.3 : Float(*, requires_grad=0, device=cpu) = aten::add(%t.2, %14, %15)
      -> (%9, %t.3)
  return (%t)
