# run: static
# One plan for all blocks: branches lie in the same place, what a loop needs of outside is needed to its end.
def f(x, flag: bool, n: int):
  a = torch.mm(x, x)
  for i in range(n):
    if bool((x[i, 0] > 0).item()):
      b = torch.relu(torch.mm(a, x))
      c = torch.mm(b, b).sum()
    else:
      d = torch.sigmoid(torch.mm(x, a))
      c = torch.mm(d, d).sum()
    x = x + c
  return x
# call: f(torch.eye(2), True, 2)
# ---- expect
f(torch.eye(2), True, 2): tensor([[53.0, 52.0], [52.0, 53.0]])
# f
f: 1 plan
plan for x.1: Float(*, *), flag: True
  4 out variant: aten::mm, planned  # branches.py:4:6
  5 native: prim::Loop  # branches.py:5:2
  6 native: aten::select.int  # branches.py:6:13
  7 native: aten::select.int  # branches.py:6:13
  8 out variant: aten::gt.Scalar, planned  # branches.py:6:13
  9 fallback: aten::item  # branches.py:6:13
  10 native: aten::Int.Scalar  # branches.py:6:7
  11 native: aten::Bool.int  # branches.py:6:7
  12 native: prim::If  # branches.py:6:4
  13 out variant: aten::mm, planned  # branches.py:7:21
  14 out variant: aten::relu, planned  # branches.py:7:10
  15 out variant: aten::mm, planned  # branches.py:8:10
  16 out variant: aten::sum, planned  # branches.py:8:10
  17 out variant: aten::mm, planned  # branches.py:10:24
  18 out variant: aten::sigmoid, planned  # branches.py:10:10
  19 out variant: aten::mm, planned  # branches.py:11:10
  20 out variant: aten::sum, planned  # branches.py:11:10
  22 out variant: aten::add.Tensor, planned  # branches.py:12:8
  a: steps 4 to 23, 4 * x.1.size(0) * x.1.size(1) bytes, at 0 to 16
  13: steps 8 to 9, 1 bytes, at 64 to 65
  17: steps 13 to 14, 4 * x.1.size(0) * x.1.size(1) bytes, at 64 to 80
  b: steps 14 to 15, 4 * x.1.size(0) * x.1.size(1) bytes, at 64 to 80
  19: steps 15 to 16, 4 * x.1.size(0) * x.1.size(1) bytes, at 128 to 144
  c.1: steps 16 to 22, 4 bytes, at 64 to 68
  22: steps 17 to 18, 4 * x.1.size(0) * x.1.size(1) bytes
  d: steps 18 to 19, 4 * x.1.size(0) * x.1.size(1) bytes
  24: steps 19 to 20, 4 * x.1.size(0) * x.1.size(1) bytes
  c.2: steps 20 to 22, 4 bytes
  x.3: steps 22 to a later iteration, 4 * x.1.size(0) * x.1.size(1) bytes
  memory: 192 bytes for 10 results of 69 bytes; no less than 192 are needed at once
