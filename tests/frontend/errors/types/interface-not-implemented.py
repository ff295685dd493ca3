# run: compile
@torch.jit.interface
class Shape:
    def area(self) -> float:
        pass

class Square:
    def __init__(self):
        self.side = 1.0

def f(s: Shape) -> float:
    return s.area()

def g() -> float:
    return f(Square())  # error: Expected a value of type 'Shape' for argument 's'
