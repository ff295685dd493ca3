# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    a.y = len([1, 2])
# ---- expect
