# run: compile, simplify-branches, dce
def f(x, y, c: bool):
  a = x
  if c:
    b = y
    print("yes")
  else:
    b = y
  return a, b
# ---- expect
graph(%x : Tensor,
      %y : Tensor,
      %c : bool):
   = prim::If(%c)
    block0():
      %3 : str = prim::Constant[value="yes"]()
       = prim::Print(%3)
      -> ()
    block1():
      -> ()
  %5 : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  return (%5)
