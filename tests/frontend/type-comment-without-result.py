# run: compile
def f(x, y):
  # type: (int, str)
  return x + 1
# ---- expect
graph(%x : int,
      %y : str):
  %2 : int = prim::Constant[value=1]()
  %3 : int = aten::add(%x, %2)
  return (%3)
