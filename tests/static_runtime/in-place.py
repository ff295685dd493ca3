# run: static
def f(x):
  a = torch.relu(x)
  b = a[0]
  b.add_(1)
  return a * b
# call: f(torch.ones([2, 2]))
# ---- expect
f(torch.ones([2, 2])): tensor([[4.0, 4.0], [2.0, 2.0]])
# f
f: 1 plan
plan for x: Float(*, *)
  2 out variant: aten::relu, planned  # in-place.py:3:6
  3 native: aten::select.int  # in-place.py:4:6
  4 fallback: aten::add_.Scalar  # in-place.py:5:2
  5 fallback: aten::mul.Tensor  # in-place.py:6:9
  a: steps 2 to 5, 4 * x.size(0) * x.size(1) bytes, at 0 to 16
  memory: 64 bytes for 1 results of 16 bytes; no less than 64 are needed at once
