# run: guards
# What is in a list of strings is known to plans; a list that had two contents may have any, and so may one with long strings.
class M:
  def __init__(self, names: List[str], more: List[str]):
    self.names = names
    self.more = more
def f(m: M, x):
  y = x
  for name in m.names:
    if name in m.more:
      y = y * 2 + 1
    if name == "sin":
      y = y.sin()
  return y
# call: f(M(["sin", "cos"], ["cos"]), torch.ones(4))
# call: f(M(["sin"], ["cos"]), torch.ones(4))
# call: f(M([], ["cos"]), torch.ones(4))
# call: f(M(["sin", "sin", "cos"], ["cos", "a name of more than sixty-four characters is none that programs choose by"]), torch.ones(4))
# call: f(M(["sin", "cos"], ["cos"]), torch.ones(4))
# ---- expect
# f
plan: gradients on
  input x: Float(*)
  attribute m.names: ['sin', 'cos']
  attribute m.more: ['cos']
plan: gradients on
  input x: Float(*)
  attribute m.names: ['sin']
  attribute m.more: ['cos']
plan: gradients on
  input x: Float(*)
  attribute m.names: any value
  attribute m.more: ['cos']
plan: gradients on
  input x: Float(*)
  attribute m.names: any value
  attribute m.more: any value
