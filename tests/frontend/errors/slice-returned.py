# run: compile
def f(x: Tensor):
    return slice(0, 1)  # error: a slice can't be used as a value
