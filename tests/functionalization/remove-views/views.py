# run: compile, functionalize, remove-views, tidy-functional
# Views of a value, of an argument, and of a list become copies; one that has a rule, too.
def f(x, y):
  a, b = (x * 2).split(2)
  m = y.movedim(0, -1)
  return a + b.view(-1)[0], m.reshape(-1), y.to(torch.float64)
# ---- expect
graph(%x : Tensor,
      %y : Tensor):
  %26 : NoneType = prim::Constant()
  %24 : bool = prim::Constant[value=0]()
  %23 : int = prim::Constant[value=7]()
  %18 : int = prim::Constant[value=1]()
  %10 : int = prim::Constant[value=-1]()
  %5 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  %3 : Tensor = aten::mul(%x, %2)
  %40 : Tensor[] = aten::split_copy(%3, %2, %5)
  %a : Tensor, %b : Tensor = prim::ListUnpack(%40)
  %36 : int[] = prim::ListConstruct(%5)
  %37 : int[] = prim::ListConstruct(%10)
  %38 : int[] = cresset::moved_dims(%y, %36, %37)
  %m : Tensor = aten::permute_copy(%y, %38)
  %13 : int[] = prim::ListConstruct(%10)
  %35 : Tensor = aten::view_copy(%b, %13)
  %34 : Tensor = aten::select_copy(%35, %5, %5)
  %19 : Tensor = aten::add(%a, %34, %18)
  %21 : int[] = prim::ListConstruct(%10)
  %33 : Tensor = aten::_reshape_copy(%m, %21)
  %32 : Tensor = aten::_to_copy(%y, %23, %26, %26, %26, %24, %26)
  %28 : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%19, %33, %32)
  return (%28)
