# run: compile, lower-tuples, dce
def f(x, y):
  t = (x, y)
  return t, t[0], t
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %5 : ((Tensor, Tensor), Tensor, (Tensor, Tensor)) = prim::TupleConstruct(%t, %x, %t)
  return (%5)
