# run: compile
def f(d: Dict[str, int]):
    return (d[1])
# ---- expect
