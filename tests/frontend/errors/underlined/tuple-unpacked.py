# run: compile
def f(x: int):
    a, b = g(x)
    return a

def g(x: int):
    return x, x, x
# ---- expect
