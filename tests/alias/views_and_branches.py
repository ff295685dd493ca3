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
