# run: compile
def f(x: int):
    return [y.foo for y in (range(x))]
# ---- expect
