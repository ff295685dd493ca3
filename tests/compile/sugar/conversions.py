# run: compile
class A:
    def __init__(self):
        self.x = 1
    def __int__(self) -> int:
        return self.x

def f(x: Tensor, s: str, n: int):
    return int(x), float(s), bool(n), int(n), str(n), int(A()), complex(1, 2), float(), ord(s), min(n, 3), max([1, n]), abs(n)
# ---- expect
