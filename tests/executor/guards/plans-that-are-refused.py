# run: guards
# Sparse tensors are of no kind that a signature has.
def f(x):
  return x * 2
# call: f(torch.ones(2))
# call: f(torch.ones(2, 2).to_sparse())
# ---- expect
# f
plan: gradients on
  input x: Float(*)
without a plan, 1: a tensor that is a subclass, sparse, quantized, nested, conjugated or undefined
