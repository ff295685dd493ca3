# run: facts
def f(x, y):
  return x + y, x.sum(), x.to(torch.float32) + y, ~x, x.cumsum(0)
# call: f(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8))
# call: f(torch.tensor([True]), torch.ones(2, dtype=torch.int16))
# ---- expect
# f(torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8))
%x: Byte(%x.size(0)) on cpu, requires no gradient
%y: Char(%y.size(0)) on cpu, requires no gradient
%3: Short(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%5: Long() on cpu, contiguous, new, requires no gradient
%10: Float(%x.size(0)) on cpu, requires no gradient
%12: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%13: Byte(%x.size(0)) on cpu, dense, new, requires no gradient
%16: Long(%x.size(0)) on cpu, contiguous, new, requires no gradient
known of 8 tensors: dtype 8, rank 8, device 8, requires_grad 8, contiguity 5, strides 1, new 5
# f(torch.tensor([True]), torch.ones(2, dtype=torch.int16))
%x: Bool(%x.size(0)) on cpu, requires no gradient
%y: Short(%y.size(0)) on cpu, requires no gradient
%3: Short(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%5: Long() on cpu, contiguous, new, requires no gradient
%10: Float(%x.size(0)) on cpu, requires no gradient
%12: Float(broadcast(%x.size(0), %y.size(0))) on cpu, dense, new, requires no gradient
%13: Bool(%x.size(0)) on cpu, dense, new, requires no gradient
%16: Long(%x.size(0)) on cpu, contiguous, new, requires no gradient
known of 8 tensors: dtype 8, rank 8, device 8, requires_grad 8, contiguity 5, strides 1, new 5
