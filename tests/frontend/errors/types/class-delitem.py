# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    del a[0]  # error: Class does not define __delitem__
