# run: alias
def f(x, n: int):
  y = x
  z = x * 1
  for i in range(n):
    y = y.t()
    z, y = y, z
  return z
# ---- expect
# f
%x: outside(Tensor)
%z.1: %z.1
%y.1: %z.1, outside(Tensor)
%z.2: %z.1, outside(Tensor)
%y.2: %z.1, outside(Tensor)
%9: %9; holds %z.1, outside(Tensor)
%z.3: %z.1, outside(Tensor)
%y.3: %z.1, outside(Tensor)
%y: %z.1, outside(Tensor)
%z: %z.1, outside(Tensor)
