# run: compile
class P(NamedTuple):
    x: int
    y: int = 3

def f():
    return P(1, y="a")  # error: Expected a value of type 'int' for argument 'y'
