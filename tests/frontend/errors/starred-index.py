# run: compile
def f(x: List[int], y: Tuple[int]):
    return x[*y]  # error: starred indices are those of a tensor
