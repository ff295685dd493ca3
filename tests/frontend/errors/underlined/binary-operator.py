# run: compile
def f(x: str, y: int):
    return ((x) + (y))
# ---- expect
