# run: alias, inline
def maybe(x: Optional[Tensor], y: Any, n: List[int]):
  if x is None:
    z = torch.ones(2)
  else:
    z = x
  if isinstance(y, Tensor):
    y.add_(1)
  n.append(1)
  return z.sum()
# ---- expect
# maybe
%x.1: outside(Tensor); written
%y.1: outside(Any); written
%n: outside(List[int]); written
%6: %6
%z.1: %z.1
%x: outside(Tensor); written
%z: %z.1, outside(Tensor); written
%y: outside(Tensor); written
%18: outside(Tensor); written
aten::add_ writes outside(Tensor)
%20: outside(List[int]); written
aten::append writes outside(List[int])
%22: %22
