# run: facts, inline
# Inside of it operators compute in other dtypes.
def f(x):
  with torch.autocast("cpu", dtype=torch.bfloat16):
    y = x @ x
  return y, x * 2
# call: f(torch.ones(2, 2))
# ---- expect
# f(torch.ones(2, 2))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: ? of unknown rank, new, requires no gradient
%11: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
known of 3 tensors: dtype 2, rank 2, device 2, requires_grad 3, contiguity 1, strides 0, new 2
