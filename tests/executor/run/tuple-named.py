# run: run
class P(NamedTuple):
  a: Tensor
  n: int
def f(p: P):
  p.a.add_(p.n)
  q = P(p.a * 2, p.n + 1)
  return q, p.a
# call: f(P(torch.ones(2), 3))
# ---- expect
f(P(torch.ones(2), 3)) -> (P(a=tensor([8.0, 8.0]), n=4), tensor([4.0, 4.0]))
  p becomes P(a=tensor([4.0, 4.0]), n=3)
  result[1] is p[0]
