# run: plan
# Whether there is a key, and what it has or else a default, are known after a branch that the call does not take, too.
def f(d: Dict[str, Tensor], shifted: bool):
  if shifted:
    d["a"] = d["b"] + 1
  y = d["b"] * 2
  if "a" in d:
    y = y + d["a"]
  c = d.get("a")
  if c is not None:
    y = y * c
  return y + d.get("e", y)
# call: f({"b": torch.ones(2)}, False)
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, False)
# ---- expect
# f({"b": torch.ones(2)}, False)
graph(%d : Dict(str, Tensor),
      %shifted : bool,
      %31 : Tensor?,
      %32 : Tensor?,
      %33 : Tensor?):
  %17 : int = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=2]()
  %36 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%32)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%36, %11)
  %30 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %y.1, %17)
  return (%30)
# f({"a": torch.ones(2), "b": torch.ones(2)}, False)
graph(%d : Dict(str, Tensor),
      %shifted : bool,
      %31 : Tensor?,
      %32 : Tensor?,
      %33 : Tensor?):
  %11 : int = prim::Constant[value=2]()
  %17 : int = prim::Constant[value=1]()
  %37 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%31)
  %36 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%32)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%36, %11)
  %y.2 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %37, %17)
  %y.4 : Float(*, requires_grad=0, device=cpu) = aten::mul(%y.2, %37)
  %30 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.4, %y.4, %17)
  return (%30)
