# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: Optional[A]):
    return a.x  # error: 'Optional[A]' object has no attribute or method 'x'. It may be None
