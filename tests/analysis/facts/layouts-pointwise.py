# run: facts
# One operand has the sizes of the result, or nothing is said: see docs/decisions/0007-plans.md.
def f(x, y, s):
  a = x.contiguous()
  b = y.contiguous()
  return a + 1, a * a, a * s, torch.relu(x), torch.where(a > 0, a, a * 2), a + b, a + a[0], a + a.t(), a.add(2).contiguous()
# call: f(torch.ones(3, 3), torch.ones(3, 3), torch.tensor(2.0))
# ---- expect
# f(torch.ones(3, 3), torch.ones(3, 3), torch.tensor(2.0))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%y: Float(%y.size(0), %y.size(1)) on cpu, requires no gradient
%s: Float() on cpu, contiguous, requires no gradient
%a: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
%b: Float(%y.size(0), %y.size(1)) on cpu, contiguous, requires no gradient
%9: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%10: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%11: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%12: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
%14: Bool(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%16: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%17: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%19: Float(broadcast(%x.size(0), %y.size(0)), broadcast(%x.size(1), %y.size(1))) on cpu, dense, new, requires no gradient
%22: Float(%x.size(1)) on cpu, contiguous, requires no gradient
%24: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%25: Float(%x.size(1), %x.size(0)) on cpu, dense, strides (1, %x.size(1)), requires no gradient
%27: Float(broadcast(%x.size(0), %x.size(1)), broadcast(%x.size(0), %x.size(1))) on cpu, dense, new, requires no gradient
%30: Float(%x.size(0), %x.size(1)) on cpu, contiguous, new, requires no gradient
%32: Float(%x.size(0), %x.size(1)) on cpu, contiguous, requires no gradient
known of 19 tensors: dtype 19, rank 19, device 19, requires_grad 19, contiguity 17, strides 13, new 11
