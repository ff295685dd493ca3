# run: compile
def f(x: int):
    return f(x)  # error: function 'f' is called recursively. Annotate its result
