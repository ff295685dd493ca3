# run: compile
def f(x: Dict[int, int], y: int) -> str:
    return x.get(y)
# ---- expect
