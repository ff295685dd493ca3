# run: compile
def g(x: int):
    return x.foo

def f(x: int):
    return g(x)
# ---- expect
