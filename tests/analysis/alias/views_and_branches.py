# run: alias, inline
# The specification's example: inputs may be one tensor, what is computed is fresh, a view is its base.
def foo(a: Tensor, b: Tensor):
  c = 2 * b
  a += 1
  if bool(a.max() > 4):
    r = a[0]
  else:
    r = b[0]
  return c, r
# ---- expect
# foo
%a.1: outside(Tensor); written
%b: outside(Tensor); written
%c: %c
%a: outside(Tensor); written
aten::add_ writes outside(Tensor)
%7: %7
%9: %9
%r.1: outside(Tensor); written
%r.2: outside(Tensor); written
%r: outside(Tensor); written
%18: %18; holds %c, outside(Tensor)
