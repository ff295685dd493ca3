# run: alias, inline
def carried(x: Tensor, n: int):
  y = x + 1
  z = x + 2
  for i in range(n):
    t = y
    y = z
    z = t.view(-1)
  return y.sum()

def grown(x: Tensor, n: int):
  l: List[Tensor] = []
  for i in range(n):
    l.append(x * i)
  s = torch.stack(l)
  s.add_(1)
  return s
