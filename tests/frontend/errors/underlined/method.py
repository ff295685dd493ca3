# run: compile
def f(x):
    y = (x + 1).adds(x, 2)
    return y
# ---- expect
'Tensor' object has no attribute or method 'adds'. Did you mean 'add'?
  File "method.py", line 3
def f(x):
    y = (x + 1).adds(x, 2)
         ~~~~~~~~~~~ <--- HERE
    return y
