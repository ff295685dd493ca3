# run: guards
def f(l: List[Tensor], i: int):
  a = l[i]
  return a * 2 + a
# call: f([torch.ones(2)], 0)
# call: f([torch.ones(2)], 0)
# call: f([torch.ones(2, 2)], 0)
# call: f([torch.arange(2)], 0)
# call: f([torch.ones(2, 2, 2)], 0)
# call: f([torch.ones(2, 2)], 0)
# call: f([torch.ones(2, 2)], 0)
# call: f([torch.ones(2, 2)], 0)
# ---- expect
# f
plan: gradients on
  autograd's tape: aten::add: a dtype or device is unknown, or complex
  autograd's tape: aten::mul: a dtype or device is unknown, or complex
