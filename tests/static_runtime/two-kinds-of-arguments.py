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
  out variant: aten::mul.Scalar, planned  # two-kinds-of-arguments.py:3:10
  native: prim::ListConstruct  # two-kinds-of-arguments.py:3:10
  fallback: aten::sum.dim_IntList  # two-kinds-of-arguments.py:3:10
  fallback: aten::mul.Scalar  # two-kinds-of-arguments.py:3:10
  2: steps 5 to 7, 4 * x.size(0) * x.size(1) bytes, at 0 to 140
  memory: 192 bytes for 1 results of 140 bytes; no less than 192 are needed at once
plan for x: Double(*)
  out variant: aten::mul.Scalar, planned  # two-kinds-of-arguments.py:3:10
  native: prim::ListConstruct  # two-kinds-of-arguments.py:3:10
  fallback: aten::sum.dim_IntList  # two-kinds-of-arguments.py:3:10
  fallback: aten::mul.Scalar  # two-kinds-of-arguments.py:3:10
  2: steps 5 to 7, 8 * x.size(0) bytes, at 0 to 16
  memory: 64 bytes for 1 results of 16 bytes; no less than 64 are needed at once
