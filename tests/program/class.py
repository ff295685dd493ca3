# run: program
class Counter:
  def __init__(self, start: int):
    self.count = start
    self.seen: List[str] = []

  def add(self, name: str, times: int = 1) -> int:
    self.seen.append(name)
    self.count += times
    return self.count

  @property
  def total(self) -> int:
    return self.count

  @staticmethod
  def double(x: int):
    return x * 2

def f(n: int):
  return Counter(n).add("f")
# ---- expect
f(int n) -> int
__init__(Counter self, int start) -> NoneType
add(Counter self, str name, int times=1) -> int
__total_getter(Counter self) -> int
double(int x) -> int
Counter
  count: int
  seen: List[str]
  __init__(Counter self, int start) -> NoneType
  add(Counter self, str name, int times=1) -> int
  __total_getter(Counter self) -> int
