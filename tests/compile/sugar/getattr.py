# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    return getattr(a, "x"), hasattr(a, "y"), getattr(a, "y", 3)
# ---- expect
