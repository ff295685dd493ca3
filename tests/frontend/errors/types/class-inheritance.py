# run: compile
class A:
    def __init__(self):
        self.x = 1

class B(A):  # error: class 'B' inherits from 'A': TorchScript has no inheritance
    pass
