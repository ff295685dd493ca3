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
