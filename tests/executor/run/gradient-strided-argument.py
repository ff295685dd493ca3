# run: run
def f(x):
  return (x * 2 + 1) * x
# let: w = torch.randn(2, 3).requires_grad_()
# call: f(w.t())
# call: f(w[:, ::2])
# call: f(w.expand(2, 2, 3))
# ---- expect
f(w.t()) -> tensor([[6.2903, 1.2147], [-0.12123, 1.2679], [7.3155, 2.5135]], requires_grad=True)
  result, strides (1, 3)
  gradient of let w: tensor([[7.164, -0.2432, -13.887], [3.9285, -5.3409, -9.1888]]), strides (1, 2)
f(w[:, ::2]) -> tensor([[6.2903, 7.3155], [1.2147, 2.5135]], requires_grad=True)
  gradient of let w: tensor([[7.164, 0.0, -10.287], [5.4562, 0.0, -9.1888]])
f(w.expand(2, 2, 3)) -> tensor([[[6.2903, -0.12123, 7.3155], [1.2147, 1.2679, 2.5135]], [[6.2903, -0.12123, 7.3155], [1.2147, 1.2679, 2.5135]]], requires_grad=True)
  gradient of let w: tensor([[18.236, -0.47377, -22.444], [10.119, -10.925, -15.872]])
