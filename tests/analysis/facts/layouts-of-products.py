# run: facts
def f(x, w, b):
  a = torch.matmul(x, w.t())
  c = torch.nn.functional.linear(x, w, b)
  d = torch.bmm(x, x.transpose(1, 2))
  e = x[0].mm(w.t())
  g = torch.einsum("bij,kj->kbi", x, w)
  return a, c, d, e, g
# call: f(torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(5))
# ---- expect
# f(torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(5))
%x: Float(%x.size(0), %x.size(1), %x.size(2)) on cpu, requires no gradient
%w: Float(%w.size(0), %w.size(1)) on cpu, requires no gradient
%b: Float(%b.size(0)) on cpu, requires no gradient
%3: Float(%w.size(1), %w.size(0)) on cpu, strides (%w.stride(1), %w.stride(0)), requires no gradient
%a: Float(%x.size(0), %x.size(1), %w.size(0)) on cpu, contiguous, new, requires no gradient
%c: Float(%x.size(0), %x.size(1), %w.size(0)) on cpu, contiguous, new, requires no gradient
%8: Float(%x.size(0), %x.size(2), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(2), %x.stride(1)), requires no gradient
%d: Float(%x.size(0), %x.size(1), %x.size(1)) on cpu, contiguous, new, requires no gradient
%12: Float(%x.size(1), %x.size(2)) on cpu, strides (%x.stride(1), %x.stride(2)), requires no gradient
%13: Float(%w.size(1), %w.size(0)) on cpu, strides (%w.stride(1), %w.stride(0)), requires no gradient
%e: Float(%x.size(1), %w.size(0)) on cpu, contiguous, new, requires no gradient
%g: Float(%g.size(0), %g.size(1), %g.size(2)) on cpu, requires no gradient
known of 12 tensors: dtype 12, rank 12, device 12, requires_grad 12, contiguity 4, strides 8, new 4
