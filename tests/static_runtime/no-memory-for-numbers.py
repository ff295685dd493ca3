# run: static
def f(x, n: int):
  size = x.size(0) * n
  return torch.zeros([size]) + float(size)
# call: f(torch.ones([2]), 3)
# ---- expect
f(torch.ones([2]), 3): tensor([6.0, 6.0, 6.0, 6.0, 6.0, 6.0])
# f
f: 1 plan
plan for x: Float(*)
  fallback: aten::size.int  # no-memory-for-numbers.py:3:9
  native: aten::mul.int  # no-memory-for-numbers.py:3:9
  native: prim::ListConstruct  # no-memory-for-numbers.py:4:21
  fallback: aten::zeros  # no-memory-for-numbers.py:4:9
  native: aten::Float.Scalar  # no-memory-for-numbers.py:4:31
  fallback: aten::add.Scalar  # no-memory-for-numbers.py:4:9
