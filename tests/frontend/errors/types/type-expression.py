# run: compile
def f(x: 3):  # error: Expression of type const cannot be used in a type expression
    return x
