# run: compile
def f(x: int = 1, y: int = g):  # error: in the default of parameter 'y': undefined value g
    return x
