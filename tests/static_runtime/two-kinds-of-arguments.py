# run: static
def f(x):
  return (x * 2).sum(0) * 3
# call: f(torch.ones([2, 2]))
# call: f(torch.ones([2], dtype=torch.float64))
# call: f(torch.ones([5, 7]))
# ---- expect
f(torch.ones([2, 2])): tensor([12.0, 12.0])
f(torch.ones([2], dtype=torch.float64)): tensor(12.0, dtype=float64)
f(torch.ones([5, 7])): tensor([30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0])
# f
f: 2 plans
plan for x: Float(*, *)
  5 out variant: aten::mul.Scalar, planned  # two-kinds-of-arguments.py:3:10
  6 native: prim::ListConstruct  # two-kinds-of-arguments.py:3:10
  7 out variant: aten::sum.dim_IntList, planned  # two-kinds-of-arguments.py:3:10
  8 fallback: aten::mul.Scalar  # two-kinds-of-arguments.py:3:10
  2: steps 5 to 7, 4 * x.size(0) * x.size(1) bytes, at 0 to 140
  7: steps 7 to 8, 4 * x.size(1) bytes, at 192 to 220
  memory: 256 bytes for 2 results of 168 bytes; no less than 256 are needed at once
plan for x: Double(*)
  5 out variant: aten::mul.Scalar, planned  # two-kinds-of-arguments.py:3:10
  6 native: prim::ListConstruct  # two-kinds-of-arguments.py:3:10
  7 out variant: aten::sum.dim_IntList, planned  # two-kinds-of-arguments.py:3:10
  8 fallback: aten::mul.Scalar  # two-kinds-of-arguments.py:3:10
  2: steps 5 to 7, 8 * x.size(0) bytes, at 0 to 16
  7: steps 7 to 8, 8 bytes, at 64 to 72
  memory: 128 bytes for 2 results of 24 bytes; no less than 128 are needed at once
