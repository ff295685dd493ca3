# run: compile
# Classes refer to themselves, and to classes and functions further down.
class Node:
    value: int
    next: Optional[Node]
    def __init__(self, value: int):
        self.value = value
        self.next = None
    def tree(self) -> Tree:
        return Tree(self)

class Tree:
    root: Node
    def __init__(self, root: Node):
        self.root = root
        self.n = helper(1)

def f(t: Tree) -> int:
    n = t.root.next
    if n is not None:
        return n.value + t.n
    return fact(3)

def helper(x: int):
    return x + 1

def fact(n: int) -> int:
    if n < 2:
        return 1
    return n * fact(n - 1)
# ---- expect
