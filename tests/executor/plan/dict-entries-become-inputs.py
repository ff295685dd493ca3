# run: plan
def f(d: Dict[str, Tensor]):
  y = d["a"] * 2
  if "b" in d:
    y = y + d["b"]
  return y.relu()
# call: f({"a": torch.ones(2), "b": torch.ones(2)})
# call: f({"a": torch.ones(2)})
# ---- expect
# f({"a": torch.ones(2), "b": torch.ones(2)})
graph(%d : Dict(str, Tensor),
      %13 : Tensor?,
      %14 : Tensor?):
  %9 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=2]()
  %17 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%14)
  %16 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%13)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%16, %3)
  %y.2 : Float(*, requires_grad=0, device=cpu) = aten::add(%y.1, %17, %9)
  %12 : Float(*, requires_grad=0, device=cpu) = aten::relu(%y.2)
  return (%12)
# f({"a": torch.ones(2)})
graph(%d : Dict(str, Tensor),
      %13 : Tensor?,
      %14 : Tensor?):
  %3 : int = prim::Constant[value=2]()
  %16 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%13)
  %y.1 : Float(*, requires_grad=0, device=cpu) = aten::mul(%16, %3)
  %12 : Float(*, requires_grad=0, device=cpu) = aten::relu(%y.1)
  return (%12)
