# run: compile, inline-fork-wait
# A fork in a fork, one that is waited for in a branch, one whose future goes into a list, and one that is never waited for.
def g(x, n: int):
  return x * n
def h(x):
  u = torch.jit.fork(g, x, 3)
  return torch.jit.wait(u) + 1
def f(x, c: bool):
  a = torch.jit.fork(g, x, 2)
  b = torch.jit.fork(h, x)
  fs = [torch.jit.fork(g, x, 4)]
  y = torch.jit.wait(a)
  if c:
    y = y + torch.jit.wait(b)
  torch.jit.fork(g, x, 5)
  return y + torch.jit.wait(fs[0])
# ---- expect
# g
graph(%x : Tensor,
      %n : int):
  %2 : Tensor = aten::mul(%x, %n)
  return (%2)
# h
graph(%x : Tensor):
  %10 : int = prim::Constant[value=3]()
  %11 : Function = prim::Constant[name="g"]()
  %12 : Tensor = prim::CallFunction(%11, %x, %10)
  %6 : int = prim::Constant[value=1]()
  %7 : int = prim::Constant[value=1]()
  %8 : Tensor = aten::add(%12, %6, %7)
  return (%8)
# f
graph(%x : Tensor,
      %c : bool):
  %29 : int = prim::Constant[value=2]()
  %30 : Function = prim::Constant[name="g"]()
  %31 : Tensor = prim::CallFunction(%30, %x, %29)
  %33 : Function = prim::Constant[name="h"]()
  %34 : Tensor = prim::CallFunction(%33, %x)
  %12 : Future[Tensor] = prim::fork_0(%x)
  %fs : Future[Tensor][] = prim::ListConstruct(%12)
  %y : Tensor = prim::If(%c)
    block0():
      %16 : int = prim::Constant[value=1]()
      %y.2 : Tensor = aten::add(%31, %34, %16)
      -> (%y.2)
    block1():
      -> (%31)
  %36 : int = prim::Constant[value=5]()
  %37 : Function = prim::Constant[name="g"]()
  %38 : Tensor = prim::CallFunction(%37, %x, %36)
  %23 : int = prim::Constant[value=0]()
  %24 : Future[Tensor] = aten::__getitem__(%fs, %23)
  %25 : Tensor = aten::wait(%24)
  %26 : int = prim::Constant[value=1]()
  %27 : Tensor = aten::add(%y, %25, %26)
  return (%27)
with prim::fork_0 = graph(%x : Tensor):
  %3 : int = prim::Constant[value=4]()
  %0 : Function = prim::Constant[name="g"]()
  %1 : Tensor = prim::CallFunction(%0, %x, %3)
  return (%1)
