# run: compile, dce
# What nobody uses goes; what may raise, prints or writes to what others hold stays.
def f(x: Tensor, l: List[int], n: int):
    a = n * 2
    b = [n, a]
    b.append(3)
    c = l[0]
    l.append(4)
    d = n // 2
    e = n // a
    print(n)
    return x
# ---- expect
graph(%x : Tensor,
      %l : int[],
      %n : int):
  %3 : int = prim::Constant[value=2]()
  %a : int = aten::mul(%n, %3)
  %8 : int = prim::Constant[value=0]()
  %c : int = aten::__getitem__(%l, %8)
  %10 : int = prim::Constant[value=4]()
  %11 : int[] = aten::append(%l, %10)
  %e : int = aten::floordiv(%n, %a)
   = prim::Print(%n)
  return (%x)
