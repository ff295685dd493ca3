# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    for i in a:  # error: 'A' object is not iterable
        pass
