# run: compile
def f(x: int):
    a, b = g(x)
    return a

def g(x: int):
    return x, x, x
# ---- expect
too many values to unpack: need 2 but found 3
  File "tuple-unpacked.py", line 3
def f(x: int):
    a, b = g(x)
    ~~~~ <--- HERE
    return a
