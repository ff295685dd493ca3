# run: compile
def f(x: int):
    return [y.foo for y in (range(x))]
# ---- expect
'int' object has no attribute or method 'foo'.
  File "comprehension.py", line 3
def f(x: int):
    return [y.foo for y in (range(x))]
            ~~~~~ <--- HERE
