# run: compile
class TooSmall(Exception):
    pass

def f(x: int) -> int:
    if x < 0:
        raise ValueError("negative", x)
    if x < 10:
        raise TooSmall("too small")
    return x
# ---- expect
