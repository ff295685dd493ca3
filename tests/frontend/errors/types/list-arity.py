# run: compile
def f(x: List[int, int]):  # error: expected exactly one element type but found 2
    return x
