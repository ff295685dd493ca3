# run: compile
class Color(Enum):
    RED = 1

def f():
    return Color(1)  # error: cannot call a EnumClass
