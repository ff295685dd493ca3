# run: compile
def fn(arg0, arg1):
  v = arg0 + arg1
  return v

def f(arg0, arg1):
  fut = torch.jit._fork(fn, arg0, arg1)
  v = fut.wait()
  return v
# ---- expect
# fn
graph(%arg0 : Tensor,
      %arg1 : Tensor):
  %2 : int = prim::Constant[value=1]()
  %v : Tensor = aten::add(%arg0, %arg1, %2)
  return (%v)
# f
graph(%arg0 : Tensor,
      %arg1 : Tensor):
  %fut : Future[Tensor] = prim::fork_0(%arg0, %arg1)
  %v : Tensor = aten::wait(%fut)
  return (%v)
with prim::fork_0 = graph(%arg0 : Tensor,
      %arg1 : Tensor):
  %0 : Function = prim::Constant[name="fn"]()
  %1 : Tensor = prim::CallFunction(%0, %arg0, %arg1)
  return (%1)
