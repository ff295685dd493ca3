# run: compile
def f(x, i: int, y: Tuple[int, Tensor], z: Dict[str, float]):
  if i == 1:
    raise TypeError(f"not for {type(x)} and {type(i)}")
  if i == 2:
    raise TypeError(type(y))
  print(type(z), type(None), type(x.device))
  return str(type([i])) + type(x).__name__
# ---- expect
graph(%x : Tensor,
      %i : int,
      %y : (int, Tensor),
      %z : Dict(str, float)):
  %4 : int = prim::Constant[value=1]()
  %5 : bool = aten::eq(%i, %4)
   = prim::If(%5)
    block0():
      %6 : str = prim::Constant[value="not for {} and {}"]()
      %7 : str = prim::Constant[value="<class \'torch.Tensor\'>"]()
      %8 : str = prim::Constant[value="<class \'int\'>"]()
      %9 : str = aten::format(%6, %7, %8)
      %10 : str = prim::Constant[value="builtins.TypeError"]()
       = prim::RaiseException(%9, %10)
      -> ()
    block1():
      -> ()
  %11 : int = prim::Constant[value=2]()
  %12 : bool = aten::eq(%i, %11)
   = prim::If(%12)
    block0():
      %13 : str = prim::Constant[value="<class \'tuple\'>"]()
      %14 : str = prim::Constant[value="builtins.TypeError"]()
       = prim::RaiseException(%13, %14)
      -> ()
    block1():
      -> ()
  %15 : str = prim::Constant[value="<class \'dict\'>"]()
  %17 : str = prim::Constant[value="<class \'NoneType\'>"]()
  %18 : Device = prim::device(%x)
  %19 : str = prim::Constant[value="<class \'torch.device\'>"]()
   = prim::Print(%15, %17, %19)
  %22 : str = prim::Constant[value="<class \'list\'>"]()
  %23 : str = prim::Constant[value="Tensor"]()
  %24 : str = aten::add(%22, %23)
  return (%24)
