# run: compile
def f(x: Foo):  # error: Unknown type name 'Foo'
    return x
