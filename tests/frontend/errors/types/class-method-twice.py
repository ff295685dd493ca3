# run: compile
class A:
    def f(self) -> int:
        return 1
    def f(self) -> int:  # error: method 'f' is defined twice; overloads are not supported
        return 2
