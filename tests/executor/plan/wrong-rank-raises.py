# run: plan
def f(x):
  if x.dim() != 2:
    raise ValueError("expected 2 dimensions, got {}".format(x.dim()))
  return x.t()
# call: f(torch.ones(3))
# ---- expect
# f(torch.ones(3))
graph(%x : Float(*, requires_grad=0, device=cpu)):
  %12 : str = prim::Constant[value="expected 2 dimensions, got 1"]()
  %7 : str = prim::Constant[value="builtins.ValueError"]()
   = prim::RaiseException(%12, %7)
  %8 : Float(*, requires_grad=0, device=cpu) = aten::t(%x)
  return (%8)
