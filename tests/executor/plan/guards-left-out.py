# run: plan
# Values that only pass through need no guard.
def f(l: List[Tensor]):
  a = l[0]
  l.append(a)
  return a
# call: f([torch.ones(2)])
# ---- expect
# f([torch.ones(2)])
graph(%l : Tensor[],
      %4 : Tensor?):
  %5 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%4)
  %3 : Tensor[] = aten::append(%l, %5)
  return (%5)
