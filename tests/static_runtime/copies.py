# run: static
# What copies where it can't return a view is planned: as a copy it lies in the arena, as a view it costs nothing.
def f(x):
  a = torch.relu(x)
  b = a.t().reshape([-1])
  c = a.reshape([-1])
  d = a.t().contiguous()
  e = (b * c).to(torch.float64)
  g = d.flatten().clone()
  h = torch.repeat(g, [2]).masked_fill(torch.repeat(g, [2]) > 1, 3)
  return e.sum(), h.sum(), a.float().sum()
# call: f(torch.ones([2, 3]))
# ---- expect
f(torch.ones([2, 3])): (tensor(6.0, dtype=float64), tensor(12.0), tensor(6.0))
# f
f: 1 plan
plan for x: Float(*, *), contiguous
  8 out variant: aten::relu, planned  # copies.py:4:6
  9 native: aten::t  # copies.py:5:6
  10 native: prim::ListConstruct  # copies.py:5:20
  11 out variant: aten::reshape, planned  # copies.py:5:6
  12 native: prim::ListConstruct  # copies.py:6:16
  13 out variant: aten::reshape, planned  # copies.py:6:6
  14 out variant: aten::contiguous, planned  # copies.py:7:6
  15 out variant: aten::mul.Tensor, planned  # copies.py:8:7
  16 out variant: aten::to.dtype, planned  # copies.py:8:7
  17 native: aten::flatten.using_ints  # copies.py:9:6
  18 out variant: aten::clone, planned  # copies.py:9:6
  19 native: prim::ListConstruct  # copies.py:10:22
  20 out variant: aten::repeat, planned  # copies.py:10:6
  21 native: prim::ListConstruct  # copies.py:10:55
  22 out variant: aten::repeat, planned  # copies.py:10:39
  23 out variant: aten::gt.Scalar, planned  # copies.py:10:39
  24 out variant: aten::masked_fill.Scalar, planned  # copies.py:10:6
  25 fallback: aten::sum  # copies.py:11:9
  26 fallback: aten::sum  # copies.py:11:18
  27 fallback: aten::sum  # copies.py:11:27
  28 native: prim::TupleConstruct  # copies.py:11:9
  a: steps 8 to 27, 4 * x.size(0) * x.size(1) bytes, at 192 to 216
  b: steps 11 to 27, 4 * x.size(0) * x.size(1) bytes, at 256 to 280
  c: steps 13 to 27, 4 * x.size(0) * x.size(1) bytes
  d: steps 14 to 27, 4 * x.size(0) * x.size(1) bytes, at 320 to 344
  12: steps 15 to 25, 4 * x.size(0) * x.size(1) bytes, at 384 to 408
  e: steps 16 to 25, 8 * x.size(0) * x.size(1) bytes, at 0 to 48
  g: steps 18 to 22, 4 * x.size(0) * x.size(1) bytes, at 448 to 472
  25: steps 20 to 24, 4 * %25.size(0) bytes, at 64 to 112
  28: steps 22 to 23, 4 * %28.size(0) bytes, at 128 to 176
  30: steps 23 to 24, %28.size(0) bytes, at 448 to 460
  h: steps 24 to 26, 4 * broadcast(%25.size(0), %28.size(0)) bytes, at 128 to 176
  memory: 512 bytes for 11 results of 324 bytes; no less than 512 are needed at once
