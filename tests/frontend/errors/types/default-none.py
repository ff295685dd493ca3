# run: compile
def f(x: int = None):  # error: Expected a value of type int but found NoneType
    return x
