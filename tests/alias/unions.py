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
