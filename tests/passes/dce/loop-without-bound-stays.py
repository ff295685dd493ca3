# run: compile, dce
def f(n: int):
  k = n
  while k > 0:
    k = k * 2
  for i in range(n):
    k = k + 1
  return n
# ---- expect
graph(%n : int):
  %1 : int = prim::Constant[value=9223372036854775807]()
  %2 : int = prim::Constant[value=0]()
  %3 : bool = aten::gt(%n, %2)
  %k.3 : int = prim::Loop(%1, %3, %n)
    block0(%4 : int, %k.1 : int):
      %6 : int = prim::Constant[value=2]()
      %k.2 : int = aten::mul(%k.1, %6)
      %8 : int = prim::Constant[value=0]()
      %9 : bool = aten::gt(%k.2, %8)
      -> (%9, %k.2)
  return (%n)
