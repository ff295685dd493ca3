# run: compile
def f(x: int):
    return g(x)

def g(x: int):
    return x.foo
# ---- expect
'int' object has no attribute or method 'foo'.
  File "compilation-stack.py", line 6
def g(x: int):
    return x.foo
           ~~~~~ <--- HERE
'g' is being compiled since it was called from here
  File "compilation-stack.py", line 3
def f(x: int):
    return g(x)
           ~ <--- HERE
