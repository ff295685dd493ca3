# run: compile
class A:
    def __init__(self):
        self.x = 1
    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

def f(a: A):
    return A.twice(1), a.twice(2)
# ---- expect
