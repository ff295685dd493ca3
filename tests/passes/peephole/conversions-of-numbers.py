# run: compile, peephole, dce
# Of what is one already; a float's int is another number.
import math
def f(n: int, v: float, b: bool):
  return int(n), math.floor(n), math.ceil(n), int(v), float(v), float(n), bool(b), bool(n), math.floor(v)
# ---- expect
graph(%n : int,
      %v : float,
      %b : bool):
  %5 : int = aten::Int(%v)
  %6 : float = aten::Float(%n)
  %7 : bool = aten::Bool(%n)
  %8 : int = aten::floor(%v)
  %9 : (int, int, int, int, float, float, bool, bool, int) = prim::TupleConstruct(%n, %n, %n, %5, %v, %6, %b, %7, %8)
  return (%9)
