# run: compile
def f(x: Dict[int]):  # error: expected exactly 2 element types but found 1
    return x
