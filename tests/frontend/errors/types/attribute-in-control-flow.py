# run: compile
class A:
    def __init__(self, x: int):
        if x > 3:
            self.y = 3  # error: First assignment cannot be in a control-flow block. Initialize the field at the top level first
