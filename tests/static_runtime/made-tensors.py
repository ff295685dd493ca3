# run: static
# Tensors of numbers, whose sizes are computed, or those of another.
def f(x):
  n = x.size(0)
  a = torch.ones([n, n]) + torch.zeros([n], dtype=torch.float64)
  b = torch.arange(n) + torch.full([n], 3)
  c = torch.zeros_like(x) + torch.ones_like(x, dtype=torch.float32) * torch.full_like(x, 2.5)
  d = x.new_zeros([n]) - x.new_ones([n], dtype=torch.float64) + x.new_full([n], 0.5)
  return torch.mm(a, a) * b, torch.arange(1, n, 2) * 2, c.sum() * 2, d.mean() * 2
# call: f(torch.ones([3]))
# ---- expect
f(torch.ones([3])): (tensor([[9.0, 12.0, 15.0], [9.0, 12.0, 15.0], [9.0, 12.0, 15.0]], dtype=float64), tensor([2], dtype=int64), tensor(15.0), tensor(-1.0, dtype=float64))
# f
f: 1 plan
plan for x: Float(*)
  9 native: aten::size.int  # made-tensors.py:4:6
  10 native: prim::ListConstruct  # made-tensors.py:5:17
  11 out variant: aten::ones, planned  # made-tensors.py:5:6
  12 native: prim::ListConstruct  # made-tensors.py:5:39
  13 out variant: aten::zeros, planned  # made-tensors.py:5:27
  14 out variant: aten::add.Tensor, planned  # made-tensors.py:5:6
  15 out variant: aten::arange, planned  # made-tensors.py:6:6
  16 out variant: aten::full, planned  # made-tensors.py:6:24
  17 out variant: aten::add.Tensor, planned  # made-tensors.py:6:6
  18 out variant: aten::zeros_like, planned  # made-tensors.py:7:6
  19 out variant: aten::ones_like, planned  # made-tensors.py:7:28
  20 out variant: aten::full_like, planned  # made-tensors.py:7:70
  21 out variant: aten::mul.Tensor, planned  # made-tensors.py:7:28
  22 out variant: aten::add.Tensor, planned  # made-tensors.py:7:6
  23 out variant: aten::new_zeros, planned  # made-tensors.py:8:6
  24 out variant: aten::new_ones, planned  # made-tensors.py:8:25
  25 out variant: aten::sub.Tensor, planned  # made-tensors.py:8:6
  26 out variant: aten::new_full, planned  # made-tensors.py:8:64
  27 out variant: aten::add.Tensor, planned  # made-tensors.py:8:6
  28 out variant: aten::mm, planned  # made-tensors.py:9:9
  29 fallback: aten::mul.Tensor  # made-tensors.py:9:9
  30 out variant: aten::arange.start_step, planned  # made-tensors.py:9:29
  31 fallback: aten::mul.Scalar  # made-tensors.py:9:29
  32 out variant: aten::sum, planned  # made-tensors.py:9:56
  33 fallback: aten::mul.Scalar  # made-tensors.py:9:56
  34 out variant: aten::mean, planned  # made-tensors.py:9:69
  35 fallback: aten::mul.Scalar  # made-tensors.py:9:69
  36 native: prim::TupleConstruct  # made-tensors.py:9:9
  8: steps 11 to 14, 4 * x.size(0) * x.size(0) bytes, at 0 to 36
  14: steps 13 to 14, 8 * x.size(0) bytes, at 192 to 216
  a: steps 14 to 28, 8 * x.size(0) * x.size(0) bytes, at 64 to 136
  21: steps 15 to 17, 8 * x.size(0) bytes, at 320 to 344
  28: steps 16 to 17, 8 * x.size(0) bytes, at 0 to 24
  b: steps 17 to 29, 8 * x.size(0) bytes, at 320 to 344
  36: steps 18 to 22, 4 * x.size(0) bytes, at 192 to 204
  42: steps 19 to 21, 4 * x.size(0) bytes, at 0 to 12
  49: steps 20 to 21, 4 * x.size(0) bytes, at 256 to 268
  50: steps 21 to 22, 4 * x.size(0) bytes, at 384 to 396
  c: steps 22 to 32, 4 * x.size(0) bytes, at 0 to 12
  58: steps 23 to 25, 4 * x.size(0) bytes, at 192 to 204
  64: steps 24 to 25, 8 * x.size(0) bytes, at 384 to 408
  66: steps 25 to 27, 8 * x.size(0) bytes, at 384 to 408
  73: steps 26 to 27, 4 * x.size(0) bytes, at 192 to 204
  d: steps 27 to 34, 8 * x.size(0) bytes, at 384 to 408
  76: steps 28 to 29, 8 * x.size(0) * x.size(0) bytes, at 192 to 264
  84: steps 30 to 31, 8 * ((x.size(0)) // (2)) bytes, at 64 to 72
  88: steps 32 to 33, 4 bytes, at 64 to 68
  92: steps 34 to 35, 8 bytes, at 0 to 8
  memory: 448 bytes for 20 results of 452 bytes; no less than 448 are needed at once
