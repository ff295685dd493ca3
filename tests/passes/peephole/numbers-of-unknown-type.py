# run: compile, inline, peephole, dce
# Functions of any number that is known to be an int or a float where they are called.
def g(n: number, x: number):
    return int(n), math.ceil(n), math.floor(n), float(x)
def f(n: int, x: float):
    return g(n, x)
# ---- expect
# g
graph(%n : Scalar,
      %x : Scalar):
  %2 : int = aten::Int(%n)
  %3 : Scalar = aten::ceil(%n)
  %4 : Scalar = aten::floor(%n)
  %5 : float = aten::Float(%x)
  %6 : (int, Scalar, Scalar, float) = prim::TupleConstruct(%2, %3, %4, %5)
  return (%6)
# f
graph(%n : int,
      %x : float):
  %8 : (int, Scalar, Scalar, float) = prim::TupleConstruct(%n, %n, %n, %x)
  return (%8)
