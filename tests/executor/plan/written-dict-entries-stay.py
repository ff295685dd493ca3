# run: plan
def f(d: Dict[str, Tensor], k: str):
  a = d["a"]
  d[k] = a + 1
  return d["a"] * 2
# call: f({"a": torch.ones(2)}, "a")
# ---- expect
# f({"a": torch.ones(2)}, "a")
graph(%d : Dict(str, Tensor),
      %k : str,
      %12 : Tensor?):
  %10 : int = prim::Constant[value=2]()
  %8 : str = prim::Constant[value="a"]()
  %4 : int = prim::Constant[value=1]()
  %14 : Float(*, requires_grad=0, device=cpu) = prim::unchecked_unwrap_optional(%12)
  %6 : Float(*, requires_grad=0, device=cpu) = aten::add(%14, %4, %4)
   = aten::_set_item(%d, %k, %6)
  %9 : Tensor = aten::__getitem__(%d, %8)
  %13 : Float(*, requires_grad=0, device=cpu) = prim::BailOut[index=0](%9)
  %11 : Float(*, requires_grad=0, device=cpu) = aten::mul(%13, %10)
  return (%11)
