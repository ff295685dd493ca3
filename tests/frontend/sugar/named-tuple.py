# run: compile
class P(NamedTuple):
    x: Tensor
    n: int = 3

def f(t: Tensor):
    p = P(t)
    q = P(n=4, x=p.x)
    a, b = q
    return q.n + p[1] + b, a
# ---- expect
graph(%t : Tensor):
  %1 : int = prim::Constant[value=3]()
  %p : NamedTuple[P](x : Tensor, n : int = 3) = prim::TupleConstruct(%t, %1)
  %3 : int = prim::Constant[value=4]()
  %4 : int = prim::Constant[value=0]()
  %5 : Tensor = prim::TupleIndex(%p, %4)
  %q : NamedTuple[P](x : Tensor, n : int = 3) = prim::TupleConstruct(%5, %3)
  %a : Tensor, %b : int = prim::TupleUnpack(%q)
  %9 : int = prim::Constant[value=1]()
  %10 : int = prim::TupleIndex(%q, %9)
  %11 : int = prim::Constant[value=1]()
  %12 : int = prim::TupleIndex(%p, %11)
  %13 : int = aten::add(%10, %12)
  %14 : int = aten::add(%13, %b)
  %15 : (int, Tensor) = prim::TupleConstruct(%14, %a)
  return (%15)
