# run: static
def f(x, n: int):
  for i in range(n):
    x = torch.neg(x * 2) + i
  return x
# call: f(torch.ones([2]), 3)
# call: f(torch.ones([2]), 0)
# ---- expect
f(torch.ones([2]), 3): tensor([-8.0, -8.0])
f(torch.ones([2]), 0): tensor([1.0, 1.0])
# f
f: 1 plan
plan for x.1: Float(*)
  3 native: prim::Loop  # loop.py:3:2
  4 out variant: aten::mul.Scalar, planned  # loop.py:4:18
  5 out variant: aten::neg, planned  # loop.py:4:8
  6 out variant: aten::add.Scalar, planned  # loop.py:4:8
  6: steps 4 to 5, 4 * x.1.size(0) bytes, at 0 to 8
  7: steps 5 to 6, 4 * x.1.size(0) bytes, at 0 to 8
  x.3: steps 6 to a later iteration, 4 * x.1.size(0) bytes
  memory: 64 bytes for 2 results of 16 bytes; no less than 64 are needed at once, 128 if no result took an operand's place
