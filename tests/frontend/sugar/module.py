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
# Inner.forward
graph(%self : Inner,
      %x : Tensor):
  %2 : Tensor = prim::GetAttr[name="w"](%self)
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::add(%x, %2, %3)
  return (%4)
# Inner.pre
graph(%self : Inner,
      %inputs : (Tensor)):
  return (%inputs)
# Inner.post
graph(%self : Inner,
      %inputs : (Tensor),
      %output : Tensor):
  return (%output)
# Outer.forward
graph(%self : Outer,
      %x : Tensor):
  %inner : Inner = prim::GetAttr[name="0"](%self)
  %3 : (Tensor) = prim::TupleConstruct(%x)
  %4 : (Tensor) = prim::CallMethod[name="pre"](%inner, %3)
  %5 : Tensor = prim::TupleUnpack(%4)
  %6 : Tensor = prim::CallMethod[name="forward"](%inner, %5)
  %7 : (Tensor) = prim::TupleConstruct(%5)
  %8 : Tensor = prim::CallMethod[name="post"](%inner, %7, %6)
  %9 : float = prim::Constant[value=2.5]()
  %10 : Tensor = aten::mul(%8, %9)
  return (%10)
