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
  3 native: aten::size.int  # no-memory-for-numbers.py:3:9
  4 native: aten::mul.int  # no-memory-for-numbers.py:3:9
  5 native: prim::ListConstruct  # no-memory-for-numbers.py:4:21
  6 out variant: aten::zeros, planned  # no-memory-for-numbers.py:4:9
  7 native: aten::Float.Scalar  # no-memory-for-numbers.py:4:31
  8 fallback: aten::add.Scalar  # no-memory-for-numbers.py:4:9
  10: steps 6 to 8, 4 * x.size(0) * n bytes, at 0 to 24
  memory: 64 bytes for 1 results of 24 bytes; no less than 64 are needed at once
