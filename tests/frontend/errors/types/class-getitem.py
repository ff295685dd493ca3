# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    return a[0]  # error: 'A' object has no attribute or method '__getitem__'
