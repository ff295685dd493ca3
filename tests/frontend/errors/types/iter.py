# run: compile
def f(x: int):
    return iter(x)  # error: iter() is not supported: iterators are no values
