# run: compile
class A:
    def __init__(self, x: int):
        self._x = x
    @property
    def x(self) -> int:
        return self._x
    @x.setter
    def x(self, value: int) -> None:
        self._x = value

def f(a: A):
    a.x = 3
    return a.x
# ---- expect
