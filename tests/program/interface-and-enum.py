# run: program
class Color(Enum):
  RED = 1
  GREEN = 2

def f(color: Color):
  return color.name, color.value

def g(color: Color):
  return color == Color.RED
# ---- expect
f(Enum<Color> color) -> ((str, int))
g(Enum<Color> color) -> bool
Color
  RED = 1
  GREEN = 2
