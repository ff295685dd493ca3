# run: compile
class Color(Enum):
    RED = 1
    BLUE = "b"  # error: Enum class 'Color' has values of different types
