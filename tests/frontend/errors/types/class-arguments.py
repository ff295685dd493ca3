# run: compile
class A:
    def __init__(self, x: int):
        self.x = x

def f():
    return A(1, 2)  # error: Expected at most 2 arguments but found 3 positional arguments
