# run: plan
# The entries of a dict that the program makes of others, by keys that a list of the module names: an attribute's list of
# strings is part of the signature, so that the loops unroll, and the plan knows what comes out.
class Model:
  def __init__(self, inputs: List[str], wrt: List[str]):
    self.inputs = inputs
    self.wrt = wrt
def filtered(m: Model, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
  found: Dict[str, Tensor] = {}
  for k, v in data.items():
    if k in m.inputs:
      if v.is_floating_point():
        v = v.to(torch.float64)
      found[k] = v
  return found
def f(m: Model, pos, types):
  data = filtered(m, {"pos": pos, "types": types, "rest": pos * 2})
  total = torch.zeros(1)
  for k in m.wrt:
    total = total + data[k].sum()
  if "types" in data:
    total = total * data["types"].sum()
  return total
# call: f(Model(["pos", "types"], ["pos"]), torch.ones(3, 2), torch.ones(3, dtype=torch.int64))
# ---- expect
# f(Model(["pos", "types"], ["pos"]), torch.ones(3, 2), torch.ones(3, dtype=torch.int64))
graph(%m : Model,
      %pos : Float(*, *, requires_grad=0, device=cpu),
      %types : Long(*, requires_grad=0, device=cpu),
      %m.inputs : str[],
      %m.wrt : str[]):
  %11 : int = prim::Constant[value=1]()
  %71 : NoneType = prim::Constant()
  %69 : bool = prim::Constant[value=0]()
  %68 : int = prim::Constant[value=7]()
  %v.2 : Double(*, *, requires_grad=0, device=cpu) = aten::to(%pos, %68, %69, %69, %71)
  %12 : int[] = prim::ListConstruct(%11)
  %total.1 : Float(*, requires_grad=0, device=cpu) = aten::zeros(%12, %71, %71, %71, %71)
  %117 : Double(requires_grad=0, device=cpu) = aten::sum(%v.2, %71)
  %total.3 : Float(*, requires_grad=0, device=cpu) = aten::add(%total.1, %117, %11)
  %35 : Long(requires_grad=0, device=cpu) = aten::sum(%types, %71)
  %total.5 : Float(*, requires_grad=0, device=cpu) = aten::mul(%total.3, %35)
  return (%total.5)
