# run: compile
def f(t: Tuple[int, str], xs: List[int]):
    for a, b in zip(t, xs):  # error: Can't iterate over a tuple together with a value whose length is not known when compiling
        pass
