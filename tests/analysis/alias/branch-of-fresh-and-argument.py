# run: alias
def f(x, c: bool):
  y = x * 2
  z = y if c else x
  z.add_(1)
  return y
# ---- expect
# f
%x: outside(Tensor); written
%y: %y; written
%z: %y, outside(Tensor); written
%7: %y, outside(Tensor); written
aten::add_ writes %y, outside(Tensor)
