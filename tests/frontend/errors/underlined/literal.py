# run: compile
def f(x: int):
    xs = [x, "a", (x)]
    return xs
# ---- expect
