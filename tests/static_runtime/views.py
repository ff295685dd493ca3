# run: static
def f(x):
  a = torch.relu(x)
  b = a.view([-1])
  c = a.t()
  return b + 1, torch.mm(c, a)
# call: f(torch.ones([2, 2]))
# ---- expect
f(torch.ones([2, 2])): (tensor([2.0, 2.0, 2.0, 2.0]), tensor([[2.0, 2.0], [2.0, 2.0]]))
# f
f: 1 plan
plan for x: Float(*, *)
  2 out variant: aten::relu, planned  # views.py:3:6
  3 native: prim::ListConstruct  # views.py:4:13
  4 native: aten::view  # views.py:4:6
  5 native: aten::t  # views.py:5:6
  6 fallback: aten::add.Scalar  # views.py:6:9
  7 fallback: aten::mm  # views.py:6:16
  8 native: prim::TupleConstruct  # views.py:6:9
  a: steps 2 to 7, 4 * x.size(0) * x.size(1) bytes, at 0 to 16
  memory: 64 bytes for 1 results of 16 bytes; no less than 64 are needed at once
