# run: compile
def f(x: float, n: int):
    return math.floor(x), math.sqrt(x), math.log(x, 2.0), math.gcd(n, 6), math.remainder(x, 2.0), math.pow(x, 2.0)
# ---- expect
