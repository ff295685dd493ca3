# run: compile
class Color(Enum):
    RED = 1

def f():
    return Color.BLUE  # error: has no attribute 'BLUE'
