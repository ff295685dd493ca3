# run: compile
def f(x: Tensor):
    return x.tolist()  # error: Expected type hint for result of tolist()
