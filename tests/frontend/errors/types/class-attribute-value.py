# run: compile
class A:
    x: int = 3  # error: class attribute 'x' has a value: assign it to self.x in __init__, or make it a constant
