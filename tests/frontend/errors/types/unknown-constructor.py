# run: compile
def f(x: Set[int]):  # error: Unknown type constructor Set
    return x
