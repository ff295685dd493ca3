# run: compile
class A:
    def __init__(self, x: int):
        self.x = x

def f(a: A):
    return a.y  # error: 'A' object has no attribute or method 'y'. Did you forget to initialize an attribute in __init__()?
