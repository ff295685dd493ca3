# run: static
def f(x, y):
  parts = [torch.relu(x), torch.neg(y)]
  whole = torch.cat(parts, 1)
  first, second = whole.chunk(2, 1)
  return first * second
# call: f(torch.ones([2, 2]), torch.zeros([2, 2]))
# ---- expect
f(torch.ones([2, 2]), torch.zeros([2, 2])): tensor([[-0.0, -0.0], [-0.0, -0.0]])
# f
f: 1 plan
plan for x: Float(*, *), y: Float(*, *)
  2 out variant: aten::relu, planned  # list-of-tensors.py:3:11
  3 out variant: aten::neg, planned  # list-of-tensors.py:3:26
  4 native: prim::ListConstruct  # list-of-tensors.py:3:10
  5 out variant: aten::cat, planned  # list-of-tensors.py:4:10
  6 native: aten::chunk  # list-of-tensors.py:5:18
  7 native: prim::ListUnpack  # list-of-tensors.py:5:18
  8 fallback: aten::mul.Tensor  # list-of-tensors.py:6:9
  2: steps 2 to 5, 4 * x.size(0) * x.size(1) bytes, at 64 to 80
  3: steps 3 to 5, 4 * y.size(0) * y.size(1) bytes, at 128 to 144
  whole: steps 5 to 8, 4 * x.size(0) * x.size(1) + 4 * x.size(0) * y.size(1) bytes, at 0 to 32
  memory: 192 bytes for 3 results of 64 bytes; no less than 192 are needed at once
