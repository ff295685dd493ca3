# run: compile
def f():
  t = torch.rand(3, 4)
  t2 = t[0]
  t2.relu_()
  torch.add(t, t, out=t)
  return t
# ---- expect
graph():
  %0 : int = prim::Constant[value=3]()
  %1 : int = prim::Constant[value=4]()
  %2 : int[] = prim::ListConstruct(%0, %1)
  %3 : NoneType = prim::Constant()
  %4 : NoneType = prim::Constant()
  %5 : NoneType = prim::Constant()
  %6 : NoneType = prim::Constant()
  %t : Tensor = aten::rand(%2, %3, %4, %5, %6)
  %8 : int = prim::Constant[value=0]()
  %9 : int = prim::Constant[value=0]()
  %t2 : Tensor = aten::select(%t, %9, %8)
  %11 : Tensor = aten::relu_(%t2)
  %12 : int = prim::Constant[value=1]()
  %13 : Tensor = aten::add(%t, %t, %12, %t)
  return (%t)
