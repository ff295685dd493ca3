# run: compile
class P(NamedTuple):
    x: int

def f(p: P):
    return p.z  # error: 'P' object has no attribute or method 'z'.
