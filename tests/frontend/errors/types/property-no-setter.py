# run: compile
class A:
    def __init__(self):
        self.y = 1
    @property
    def x(self) -> int:
        return self.y

def f(a: A):
    a.x = 3  # error: Tried to set read-only attribute: x, a property that has no setter
