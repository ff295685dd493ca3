# run: static
def f(x, y):
  a = torch.mm(x, y)
  b = torch.relu(a)
  c = torch.mm(b, y)
  d = torch.abs(c)
  return d + 1
# call: f(torch.ones([2, 2]), torch.eye(2))
# ---- expect
f(torch.ones([2, 2]), torch.eye(2)): tensor([[2.0, 2.0], [2.0, 2.0]])
# f
f: 1 plan
plan for x: Float(*, *), y: Float(*, *)
  1 out variant: aten::mm, planned  # chain.py:3:6
  2 out variant: aten::relu, planned  # chain.py:4:6
  3 out variant: aten::mm, planned  # chain.py:5:6
  4 out variant: aten::abs, planned  # chain.py:6:6
  5 fallback: aten::add.Scalar  # chain.py:7:9
  a: steps 1 to 2, 4 * x.size(0) * y.size(1) bytes, at 0 to 16
  b: steps 2 to 3, 4 * x.size(0) * y.size(1) bytes, at 0 to 16
  c: steps 3 to 4, 4 * x.size(0) * y.size(1) bytes, at 64 to 80
  d: steps 4 to 5, 4 * x.size(0) * y.size(1) bytes, at 64 to 80
  memory: 128 bytes for 4 results of 64 bytes; no less than 128 are needed at once
