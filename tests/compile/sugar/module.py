# run: compile
# A module as archives write it: parameters, odd attribute names, constants, hooks.
class Inner(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  __forward_pre_hooks__ = ["pre", ]
  __forward_hooks__ = ["post", ]
  w : Tensor
  training : bool
  def forward(self, x: Tensor) -> Tensor:
    return x + self.w
  def pre(self, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
    return inputs
  def post(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    return output

class Outer(Module):
  __parameters__ = []
  __buffers__ = []
  __annotations__["0"] = Inner
  scale : Final[float] = 2.5
  def forward(self, x: Tensor) -> Tensor:
    inner = getattr(self, "0")
    return inner(x) * self.scale
# ---- expect
