# run: compile, lower-tuples, dce
def f(t: Tuple[int, int, int], i: int):
  a, b, c = t
  return t[1] + a + c
# ---- expect
graph(%t : (int, int, int),
      %i : int):
  %a : int, %b : int, %c : int = prim::TupleUnpack(%t)
  %5 : int = prim::Constant[value=1]()
  %6 : int = prim::TupleIndex(%t, %5)
  %7 : int = aten::add(%6, %a)
  %8 : int = aten::add(%7, %c)
  return (%8)
