# run: plan
# An entry that only a branch changes is read when the plan is entered; where the call does not take the branch, it is
# the input throughout.
def f(d: Dict[str, Tensor], shifted: bool):
  a = d["a"] * 2
  if shifted:
    d["a"] = a
    d["b"] = d["b"] + a
  y = d["a"] + d["b"]
  return (y * d["b"]).relu()
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, False)
# call: f({"a": torch.ones(2), "b": torch.ones(2)}, True)
# ---- expect
# f({"a": torch.ones(2), "b": torch.ones(2)}, False)
graph(%d : Dict(str, Tensor),
      %shifted : bool,
      %24 : Tensor?,
      %25 : Tensor?):
  %18 : int = prim::Constant[value=1]()
  %32 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%25)
  %31 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%24)
  %y : Float(*, requires_grad=0, device=cpu) = aten::add(%31, %32, %18)
  %22 : Float(*, requires_grad=0, device=cpu) = aten::mul(%y, %32)
  %23 : Float(*, requires_grad=0, device=cpu) = aten::relu(%22)
  return (%23)
# f({"a": torch.ones(2), "b": torch.ones(2)}, True)
graph(%d : Dict(str, Tensor),
      %shifted : bool,
      %24 : Tensor?,
      %25 : Tensor?):
  %12 : str = prim::Constant[value="b"]()
  %10 : int = prim::Constant[value=1]()
  %6 : str = prim::Constant[value="a"]()
  %4 : int = prim::Constant[value=2]()
  %30 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%25)
  %29 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%24)
  %a : Float(*, requires_grad=0, device=cpu) = aten::mul(%29, %4)
   = aten::_set_item(%d, %6, %a)
  %11 : Float(*, requires_grad=0, device=cpu) = aten::add(%30, %a, %10)
   = aten::_set_item(%d, %12, %11)
  %26 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%a, %d)
  %27 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=1](%11, %a)
  %y : Float(*, requires_grad=0, device=cpu) = aten::add(%26, %27, %10)
  %22 : Float(*, requires_grad=0, device=cpu) = aten::mul(%y, %27)
  %23 : Float(*, requires_grad=0, device=cpu) = aten::relu(%22)
  return (%23)
