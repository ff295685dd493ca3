# run: compile
def f(x: int = [i for i in [1]]):  # error: is not a constant
    return x
