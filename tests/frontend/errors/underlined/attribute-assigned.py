# run: compile
class A:
    def __init__(self):
        self.x = 1

def f(a: A):
    a.y = len([1, 2])
# ---- expect
Tried to set nonexistent attribute: y. Did you forget to initialize it in __init__()?
  File "attribute-assigned.py", line 7
def f(a: A):
    a.y = len([1, 2])
    ~~~~~~~~~~~~~~~ <--- HERE
