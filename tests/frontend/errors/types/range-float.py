# run: compile
def f():
    for i in range(2.5):  # error: all inputs of range must be ints, found float in argument 0
        pass
