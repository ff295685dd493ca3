# run: compile
class M(Module):
    training : bool

def f():
    return M()  # error: Cannot instantiate class 'M' in a script function
