# run: compile, pool-constants, licm
def f(x, n: int):
  for i in range(n):
    print("same")
    x = x + torch.rand([2])
  return x
# ---- expect
graph(%x.1 : Tensor,
      %n : int):
  %14 : int = prim::Constant[value=1]()
  %9 : NoneType = prim::Constant()
  %7 : int = prim::Constant[value=2]()
  %5 : str = prim::Constant[value="same"]()
  %2 : bool = prim::Constant[value=1]()
  %8 : int[] = prim::ListConstruct(%7)
  %x : Tensor = prim::Loop(%n, %2, %x.1)
    block0(%i : int, %x.2 : Tensor):
       = prim::Print(%5)
      %13 : Tensor = aten::rand(%8, %9, %9, %9, %9)
      %x.3 : Tensor = aten::add(%x.2, %13, %14)
      -> (%2, %x.3)
  return (%x)
