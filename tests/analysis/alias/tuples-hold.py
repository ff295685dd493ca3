# run: alias
def f(x):
  a = x * 2
  t = (a, (x, a.t()))
  u, (v, w) = t
  w.add_(1)
  return u
# ---- expect
# f
%x: outside(Tensor)
%a: %a; written
%3: %a; written
%4: %4; holds %a, outside(Tensor)
%t: %t; holds %4, %a, outside(Tensor)
%u: %a; written
%7: %4; holds %a, outside(Tensor)
%v: outside(Tensor)
%w: %a; written
%12: %a; written
aten::add_ writes %a
