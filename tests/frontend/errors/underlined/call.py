# run: compile
def g(x: int, y: int) -> int:
    return x

def f(x: int):
    return g(x, [x, (x + 1)]) * (2 + x)
# ---- expect

g(int x, int y) -> int:
Expected a value of type 'int' for argument 'y' but instead found type 'List[int]'.
  File "call.py", line 6
def f(x: int):
    return g(x, [x, (x + 1)]) * (2 + x)
           ~ <--- HERE
