# run: compile
# The elements of a tuple have types of their own, so a loop over it is unrolled.
def f(t: Tuple[int, str]):
    for i, x in enumerate(t):
        print(i, x)
# ---- expect
