# run: facts
def g(x):
  return x * 2
def f(x):
  return g(x) + 1
# call: f(torch.ones(2))
# ---- expect
# f(torch.ones(2))
%x: ? of unknown rank
%2: ? of unknown rank
%5: ? of unknown rank, new
known of 3 tensors: dtype 0, rank 0, device 0, requires_grad 0, contiguity 0, strides 0, new 1
