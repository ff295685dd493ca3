# run: compile
def f(x: Tensor, c: bool):
    s = slice(0, 1)
    if c:
        s = slice(1, 2)  # error: Cannot re-assign 's' to a value of type slice
    return x[s]
