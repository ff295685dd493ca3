# run: compile, functionalize
def f(x, m: Optional[Tensor]):
  assert m is not None
  m.mul_(x)
  return m + 1
# ---- expect
graph(%x : Tensor,
      %m.1 : Tensor?):
  %2 : NoneType = prim::Constant()
  %3 : bool = aten::__isnot__(%m.1, %2)
  %m : Tensor = prim::If(%3)
    block0():
      %m.2 : Tensor = prim::unchecked_cast(%m.1)
      -> (%m.2)
    block1():
      %5 : str = prim::Constant[value="AssertionError: "]()
      %6 : NoneType = prim::Constant()
       = prim::RaiseException(%5, %6)
      %7 : Tensor = prim::Uninitialized()
      -> (%7)
  %13 : Tensor = prim::unchecked_cast(%m.1)
  %14 : bool = prim::Constant[value=1]()
   = cresset::check_overlap(%13, %x, %14)
  %15 : Tensor = prim::unchecked_cast(%m.1)
  %16 : NoneType = prim::Constant()
  %17 : Tensor = aten::clone(%15, %16)
  %18 : Tensor = cresset::mul(%17, %x)
  %10 : int = prim::Constant[value=1]()
  %11 : int = prim::Constant[value=1]()
  %12 : Tensor = aten::add(%18, %10, %11)
  %19 : Tensor? = cresset::copy_if_written_(%m.1, %18)
  return (%12)
