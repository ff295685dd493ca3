# run: compile
def f(x):
    y = (x + 1).adds(x, 2)
    return y
# ---- expect
