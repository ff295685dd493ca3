# run: compile
# The elements of a tuple have types of their own, so a loop over it is unrolled.
def f(t: Tuple[int, str]):
    for i, x in enumerate(t):
        print(i, x)
# ---- expect
graph(%t : (int, str)):
  %x.1 : int, %x : str = prim::TupleUnpack(%t)
  %i.1 : int = prim::Constant[value=0]()
   = prim::Print(%i.1, %x.1)
  %i : int = prim::Constant[value=1]()
   = prim::Print(%i, %x)
  %7 : NoneType = prim::Constant()
  return (%7)
