# run: compile
def f(x: int):
    return len(x)  # error: 'int' object has no len()
