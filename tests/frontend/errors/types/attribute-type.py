# run: compile
class A:
    def __init__(self, x: int):
        self.x = x
    def f(self):
        self.x = "s"  # error: Wrong type for attribute assignment. Expected int but got str
