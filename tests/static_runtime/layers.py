# run: static
def f(x, mean, var, weight, k: int):
  a = torch.batch_norm(torch.relu(x), weight, None, mean, var, False, 0.1, 1e-5, False)
  b = torch.max_pool2d(a, [k, k], [k, k], [0, 0], [1, 1], False)
  c = torch.log_softmax(b.flatten(1), 1)
  return c.sum(0) * 2, c.mean(1)
# call: f(torch.ones([1, 2, 2, 2]), torch.zeros([2]), torch.ones([2]), torch.ones([2]), 2)
# ---- expect
f(torch.ones([1, 2, 2, 2]), torch.zeros([2]), torch.ones([2]), torch.ones([2]), 2): (tensor([-1.3862944, -1.3862944]), tensor([-0.6931472]))
# f
f: 1 plan
plan for x: Float(*, *, *, *), mean: Float(*), var: Float(*), weight: Float(*)
  8 out variant: aten::relu, planned  # layers.py:3:23
  9 out variant: aten::batch_norm, planned  # layers.py:3:6
  10 native: prim::ListConstruct  # layers.py:4:26
  11 native: prim::ListConstruct  # layers.py:4:42
  12 native: prim::ListConstruct  # layers.py:4:50
  13 out variant: aten::max_pool2d, planned  # layers.py:4:6
  14 out variant: aten::flatten.using_ints, planned  # layers.py:5:24
  15 out variant: aten::log_softmax.int, planned  # layers.py:5:6
  16 native: prim::ListConstruct  # layers.py:6:9
  17 out variant: aten::sum.dim_IntList, planned  # layers.py:6:9
  18 fallback: aten::mul.Scalar  # layers.py:6:9
  19 native: prim::ListConstruct  # layers.py:6:23
  20 fallback: aten::mean.dim  # layers.py:6:23
  21 native: prim::TupleConstruct  # layers.py:6:9
  5: steps 8 to 9, 4 * x.size(0) * x.size(1) * x.size(2) * x.size(3) bytes, at 0 to 32
  a: steps 9 to 13, 4 * x.size(0) * x.size(1) * x.size(2) * x.size(3) bytes, at 64 to 96
  b: steps 13 to 15, 4 * x.size(0) * x.size(1) * %21.size(2) * %21.size(3) bytes, at 0 to 8
  24: steps 14 to 15, 4 * x.size(0) * x.size(1) * %21.size(2) * %21.size(3) bytes
  c: steps 15 to 20, 4 * x.size(0) * x.size(1) * %21.size(2) * %21.size(3) bytes, at 64 to 72
  32: steps 17 to 18, 4 * x.size(1) * %21.size(2) * %21.size(3) bytes, at 0 to 8
  memory: 128 bytes for 6 results of 88 bytes; no less than 128 are needed at once
