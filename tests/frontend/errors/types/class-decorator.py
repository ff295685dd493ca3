# run: compile
@dataclass  # error: the decorator 'dataclass' is not supported on classes
class A:
    x: int
