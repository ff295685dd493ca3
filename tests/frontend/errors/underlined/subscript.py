# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    return (a[1])
# ---- expect
'A' object has no attribute or method '__getitem__'. Did you forget to initialize an attribute in __init__()?
  File "subscript.py", line 7
def f(a: A):
    return (a[1])
            ~~~~ <--- HERE
