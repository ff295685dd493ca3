# run: compile
class A:
    def __init__(self, x: int):
        self.x = x

def f():
    return A(1, 2)  # error: Expected at most 1 arguments but found 2 positional arguments
