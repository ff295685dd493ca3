# run: compile
class Color(Enum):
    RED = 1
    GREEN = 2

def f(c: Color):
    total = 0
    for m in Color:
        total += m.value
    return c == Color.RED, c.name, Color.GREEN.value, total, len(Color)
# ---- expect
