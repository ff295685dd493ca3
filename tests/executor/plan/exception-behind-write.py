# run: plan
def f(x, n: int):
  x.add_(1)
  if n < 0:
    raise IndexError("negative")
  return x * n
# call: f(torch.ones(2), -1)
# ---- expect
# f(torch.ones(2), -1)
graph(%x : Float(*, device=cpu),
      %n : int):
  %8 : str = prim::Constant[value="builtins.IndexError"]()
  %7 : str = prim::Constant[value="negative"]()
  %5 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=1]()
  %4 : Float(*, device=cpu) = aten::add_(%x, %2, %2)
  %6 : bool = aten::lt(%n, %5)
   = prim::If(%6)
    block0():
       = prim::RaiseException(%7, %8)
      -> ()
    block1():
      -> ()
  %9 : Float(*, device=cpu) = aten::mul(%x, %n)
  return (%9)
