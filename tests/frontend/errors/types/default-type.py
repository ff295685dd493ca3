# run: compile
def f(x: int = 3.5):  # error: in the default of parameter 'x': Expected a value of type int but found float
    return x
