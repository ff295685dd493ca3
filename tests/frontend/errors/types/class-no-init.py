# run: compile
class A:
    x: int

def f():
    return A()  # error: Class A does not have an __init__ function defined
