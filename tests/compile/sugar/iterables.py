# run: compile
# A loop over range, enumerate or zip counts with the loop's own counter.
def f(xs: List[int], ys: List[str]):
    n = 0
    for i in range(3):
        n += i
    for i in range(1, 9, 2):
        n += i
    for i, (x, y) in enumerate(zip(xs, ys), 1):
        n += i * x + len(y)
    for x in reversed(xs):
        n -= x
    return n
# ---- expect
