# run: program
def f(x, n: int = 2, names: Optional[List[str]] = None, *, scale: float = 1.0) -> Tensor:
  return x * n * scale

def g():
  pass

def h(x: Tuple[Tensor, Dict[str, int]]):
  return x[0], x[1]["a"]
# ---- expect
f(Tensor x, int n=2, str[]? names=None, *, float scale=1.) -> Tensor
g() -> NoneType
h((Tensor, Dict(str, int)) x) -> ((Tensor, int))
