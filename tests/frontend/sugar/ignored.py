# run: compile
class M(Module):
  training : bool
  @torch.jit.unused
  def python_only(self, x: int) -> int:
    return imported_thing(x)
  @torch.jit.export
  def f(self) -> int:
    return self.python_only(1)
# ---- expect
# M.python_only
graph(%self : M,
      %x : int):
  %2 : str = prim::Constant[value="Cannot call @unused methods: this Python function is annotated to be ignored and cannot be run"]()
  %3 : str = prim::Constant[value="builtins.RuntimeError"]()
   = prim::RaiseException(%2, %3)
  %4 : int = prim::Uninitialized()
  return (%4)
# M.f
graph(%self : M):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::CallMethod[name="python_only"](%self, %1)
  return (%2)
