# run: guards
class Layer:
  def __init__(self, w: Tensor, training: bool):
    self.w = w
    self.training = training
class Model:
  def __init__(self, layer: Layer, n: int):
    self.layer = layer
    self.n = n
def f(m: Model, x):
  y = x * m.layer.w
  if m.layer.training:
    y = y + m.n
  return y
# call: f(Model(Layer(torch.ones(2), True), 2), torch.ones(2))
# call: f(Model(Layer(torch.ones(2).requires_grad_(), False), 2), torch.ones(2))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  attribute m.layer.w: Float(*)
  attribute m.layer.training: True
  attribute m.n: 2
plan: gradients on
  input x: Float(*)
  attribute m.layer.w: Float(*, requires_grad=1)
  attribute m.layer.training: False
  attribute m.n: 2
  autograd's tape: aten::mul: too few operators beside it, or its result is used in a way that only autograd's tape knows
