# run: compile
# The way archives write objects, missing literals and operators.
class A:
  prev : bool
  def __init__(self: A) -> NoneType:
    self.prev = torch.is_grad_enabled()
    return None

def f(x: Tensor) -> Tuple[A, float, Tensor]:
  a = A.__new__(A)
  _0 = (a).__init__()
  ops.prim.Print("a")
  return (a, inf, torch.to(x, ops.prim.device(x)))
# ---- expect
