# run: compile
class A:
    def __init__(self):
        self.y = 1
    @property
    def x(self) -> int:
        return self.y

def f(a: A):
    a.x = 3  # error: property 'x' has no setter
