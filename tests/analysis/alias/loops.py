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
# ---- expect
# carried
%x: outside(Tensor)
%y.1: %y.1
%z.1: %z.1
%y.2: %y.1, %z.1
%z.2: %y.1, %z.1
%13: %13
%z.3: %y.1, %z.1
%y: %y.1, %z.1
%z: %y.1, %z.1
%18: %18
# grown
%x: outside(Tensor)
%l: %l; holds %5; written
%5: %5
%6: %l; holds %5; written
aten::append writes %l
%s: %s; written
%11: %s; written
aten::add_ writes %s
