# run: compile, pool-constants, cse
# A call may do anything.
def g(n: int) -> int:
  return n
def f(n: int):
  a = g(n) + g(n)
  print(n)
  print(n)
  return a
# ---- expect
# g
graph(%n : int):
  return (%n)
# f
graph(%n : int):
  %1 : Function = prim::Constant[name="g"]()
  %2 : int = prim::CallFunction(%1, %n)
  %4 : int = prim::CallFunction(%1, %n)
  %a : int = aten::add(%2, %4)
   = prim::Print(%n)
   = prim::Print(%n)
  return (%a)
