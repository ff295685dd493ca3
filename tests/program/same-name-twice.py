# run: program
def f(n: int):
  return n

def f(x):
  return x
# ---- expect
'f' is defined twice
  File "same-name-twice.py", line 5
def f(x):
    ~ <--- HERE
  return x
