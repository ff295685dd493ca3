# run: compile, unroll, constant-propagation, dce
def f(l: List[int]):
  for i in range(2):
    print(i)
    l.append(i)
  return l
# ---- expect
graph(%l : int[]):
  %6 : int = prim::Constant[value=0]()
   = prim::Print(%6)
  %7 : int[] = aten::append(%l, %6)
  %8 : int = prim::Constant[value=1]()
   = prim::Print(%8)
  %9 : int[] = aten::append(%l, %8)
  return (%l)
