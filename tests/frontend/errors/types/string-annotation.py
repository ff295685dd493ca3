# run: compile
def f(x: "List[Foo]"):  # error: Unknown type name 'Foo'
    return x
