# run: compile
def f():
    x = range(3)
    return x  # error: range cannot be used as a value
