# run: compile
# The seed's loop: what changes is carried, the count is the loop's own.
def f(x):
  z = x
  for i in range(x.size(0)):
    z = z * z
  return z
# ---- expect
graph(%x : Tensor):
  %1 : int = prim::Constant[value=0]()
  %2 : int = aten::size(%x, %1)
  %3 : bool = prim::Constant[value=1]()
  %z : Tensor = prim::Loop(%2, %3, %x)
    block0(%i : int, %z.1 : Tensor):
      %z.2 : Tensor = aten::mul(%z.1, %z.1)
      -> (%3, %z.2)
  return (%z)
