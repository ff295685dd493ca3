# run: compile
def g(x, n: int):
  return x + n
def f(x):
  y = x * 2
  t = torch.jit.fork(g, y, n=3)
  return t
# ---- expect
# g
graph(%x : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::add(%x, %n, %2)
  return (%3)
# f
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %1)
  %t : Future[Tensor] = prim::fork_0(%y)
  return (%t)
with prim::fork_0 = graph(%y : Tensor):
  %3 : int = prim::Constant[value=3]()
  %0 : Function = prim::Constant[name="g"]()
  %1 : Tensor = prim::CallFunction(%0, %y, %3)
  return (%1)
