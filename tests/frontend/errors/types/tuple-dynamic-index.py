# run: compile
def f(x: Tuple[int, str], i: int):
    return x[i]  # error: Cannot index into a Tuple[int, str] with a non-integer literal because we cannot resolve the output type
