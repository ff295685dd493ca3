# run: compile
class A:
    def __init__(self, x: int):
        self.x = x
    def f(self):
        self.y = 3  # error: Tried to set nonexistent attribute: y. Did you forget to initialize it in __init__()?
