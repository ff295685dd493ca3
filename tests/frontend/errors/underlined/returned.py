# run: compile
def f(x: Dict[int, int], y: int) -> str:
    return x.get(y)
# ---- expect
Return value was annotated as having type str but is actually of type Optional[int]
  File "returned.py", line 3
def f(x: Dict[int, int], y: int) -> str:
    return x.get(y)
    ~~~~~~~~~~~~~~ <--- HERE
