# run: compile
def f(t: Tuple[int, str], xs: List[int]):
    for a, b in zip(t, xs):  # error: a value that does not have a statically determinable length
        pass
