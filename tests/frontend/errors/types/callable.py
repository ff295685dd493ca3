# run: compile
def f(x: Callable[[int], int]):  # error: Unknown type constructor Callable
    return x
