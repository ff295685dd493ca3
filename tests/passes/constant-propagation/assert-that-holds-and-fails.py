# run: compile, constant-propagation, simplify-branches, dce
def f(x):
  assert 1 + 1 == 2
  assert 1 + 1 == 3, "never"
  return x
# ---- expect
graph(%x : Tensor):
  %13 : str = prim::Constant[value="AssertionError: never"]()
  %14 : NoneType = prim::Constant()
   = prim::RaiseException(%13, %14)
  return (%x)
