# run: alias
def f(x):
  a = x.to(torch.float32)
  b = (x * 1).contiguous()
  c = x.reshape(-1)
  d = x.expand(2, 2)
  e = x.clone()
  a.zero_()
  return b, c, d, e
# ---- expect
# f
%x: outside(Tensor); written
%a: outside(Tensor); written
%7: %7
%b: %7
%11: %11
%c: outside(Tensor); written
%15: %15
%d: outside(Tensor); written
%e: %e
%20: outside(Tensor); written
aten::zero_ writes outside(Tensor)
%21: %21; holds %7, %e, outside(Tensor)
