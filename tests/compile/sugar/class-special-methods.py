# run: compile
class Bag:
    items: List[int]
    def __init__(self) -> None:
        self.items = [1]
    def __len__(self) -> int:
        return len(self.items)
    def __getitem__(self, i: int) -> int:
        return self.items[i]
    def __setitem__(self, i: int, x: int) -> None:
        self.items[i] = x
    def __contains__(self, x: int) -> bool:
        return x in self.items
    def __call__(self, x: int) -> int:
        return x

def f(b: Bag):
    b[0] = 4
    return len(b), b[0], 3 in b, b(7)
# ---- expect
