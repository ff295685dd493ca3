# run: compile
@torch.jit.interface
class Shape:
    def area(self, scale: float = 1.0) -> float:
        pass

class Square:
    side: float
    def __init__(self, side: float):
        self.side = side
    def area(self, scale: float = 1.0) -> float:
        return self.side * self.side * scale

def f(s: Shape) -> float:
    return s.area(2.0)

def g() -> float:
    return f(Square(3.0))
# ---- expect
