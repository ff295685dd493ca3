# run: compile
def f():
  return torch.device(type="cpu"), torch.device("cuda", index=1), torch.device(index=0, type="cuda")
# ---- expect
graph():
  %1 : Device = prim::Constant[value="cpu"]()
  %4 : Device = prim::Constant[value="cuda:1"]()
  %7 : Device = prim::Constant[value="cuda:0"]()
  %8 : (Device, Device, Device) = prim::TupleConstruct(%1, %4, %7)
  return (%8)
