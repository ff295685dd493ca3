# run: compile
def g(x: int, y: int = 2) -> int:
    return x + y

def f():
    h = g
    return g(1), g(x=1, y=3), h(4)
# ---- expect
