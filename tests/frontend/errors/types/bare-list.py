# run: compile
def f(x: List):  # error: Attempted to use List without a contained type. Please add a contained type, e.g. List[int]
    return x
