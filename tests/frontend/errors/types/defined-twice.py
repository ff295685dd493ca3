# run: compile
def f():
    return 1

def f():  # error: 'f' is defined twice
    return 2
