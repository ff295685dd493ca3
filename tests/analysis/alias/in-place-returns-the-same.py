# run: alias
def f(x):
  a = x * 2
  b = a.add_(1)
  c = b.relu_()
  return c
# ---- expect
# f
%x: outside(Tensor)
%a: %a; written
%b: %a; written
aten::add_ writes %a
%c: %a; written
aten::relu_ writes %a
