# run: compile
# Attributes that __init__ assigns, a Final constant, methods with and without an annotated result.
class Counter:
    step: Final[int] = 2
    def __init__(self, start: int):
        self.n = start
        self.log: List[str] = []
    def next(self):
        self.n += self.step
        return self.n

def f():
    c = Counter(3)
    c.n = 5
    return c.next() + Counter.step
# ---- expect
