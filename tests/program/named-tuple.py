# run: program
class Pair(NamedTuple):
  first: Tensor
  second: Optional[int] = None

def f(x):
  return Pair(x, 2)

def g(pair: Pair):
  return pair.first
# ---- expect
f(Tensor x) -> Pair
g(Pair pair) -> Tensor
Pair
  first: Tensor
  second: Optional[int]
