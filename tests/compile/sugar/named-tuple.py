# run: compile
class P(NamedTuple):
    x: Tensor
    n: int = 3

def f(t: Tensor):
    p = P(t)
    q = P(n=4, x=p.x)
    a, b = q
    return q.n + p[1] + b, a
# ---- expect
