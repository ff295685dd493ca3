# run: facts
# ATen leaves a mask of no dimensions out where the result is empty, and else raises; an index counts all the same.
def f(x, m, i):
  return torch.ops.aten.index(x, [m]), torch.ops.aten.index(x, [m, i])
# call: f(torch.ones(0, 3), torch.tensor(True), torch.zeros(0, dtype=torch.int64))
# call: f(torch.ones(2, 0), torch.tensor(False), torch.tensor([1, 0]))
# ---- expect
# f(torch.ones(0, 3), torch.tensor(True), torch.zeros(0, dtype=torch.int64))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%m: Bool() on cpu, contiguous, requires no gradient
%i: Long(%i.size(0)) on cpu, requires no gradient
%4: Float(%4.size(0), %4.size(1)) on cpu, requires no gradient
%6: Float(%6.size(0), %6.size(1)) on cpu, requires no gradient
known of 5 tensors: dtype 5, rank 5, device 5, requires_grad 5, contiguity 1, strides 0, new 0
# f(torch.ones(2, 0), torch.tensor(False), torch.tensor([1, 0]))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%m: Bool() on cpu, contiguous, requires no gradient
%i: Long(%i.size(0)) on cpu, requires no gradient
%4: Float(%4.size(0), %4.size(1)) on cpu, requires no gradient
%6: Float(%6.size(0), %6.size(1)) on cpu, requires no gradient
known of 5 tensors: dtype 5, rank 5, device 5, requires_grad 5, contiguity 1, strides 0, new 0
