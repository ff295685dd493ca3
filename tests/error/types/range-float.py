# run: compile
def f():
    for i in range(2.5):  # error: range() expects int arguments but got float
        pass
