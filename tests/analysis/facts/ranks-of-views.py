# run: facts
def f(x, i):
  return x.t(), x.unsqueeze(0), x.view(-1), x[0], x[:, 0:1], x[None], x.flatten(), x.squeeze(), x.squeeze(0), x[i], x.permute(1, 0), x.unsqueeze(0).squeeze(0)
# call: f(torch.ones(2, 3), torch.tensor([0, 1]))
# ---- expect
# f(torch.ones(2, 3), torch.tensor([0, 1]))
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%i: Long(%i.size(0)) on cpu, requires no gradient
%2: Float(%x.size(1), %x.size(0)) on cpu, strides (%x.stride(1), %x.stride(0)), requires no gradient
%4: Float(1, %x.size(0), %x.size(1)) on cpu, strides (%4.stride(0), %x.stride(0), %x.stride(1)), requires no gradient
%7: Float(%x.size(0) * %x.size(1)) on cpu, requires no gradient
%10: Float(%x.size(1)) on cpu, strides (%x.stride(1)), requires no gradient
%17: Float(%x.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%20: Float(%x.size(0), %20.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
%23: Float(1, %x.size(0), %x.size(1)) on cpu, strides (%23.stride(0), %x.stride(0), %x.stride(1)), requires no gradient
%26: Float(%x.size(0) * %x.size(1)) on cpu, requires no gradient
%27: Float of unknown rank on cpu, requires no gradient
%29: Float of unknown rank on cpu, requires no gradient
%31: Float(%31.size(0), %31.size(1)) on cpu, new, requires no gradient
%35: Float(%x.size(1), %x.size(0)) on cpu, strides (%x.stride(1), %x.stride(0)), requires no gradient
%37: Float(1, %x.size(0), %x.size(1)) on cpu, strides (%37.stride(0), %x.stride(0), %x.stride(1)), requires no gradient
%39: Float(%x.size(0), %x.size(1)) on cpu, strides (%x.stride(0), %x.stride(1)), requires no gradient
known of 16 tensors: dtype 16, rank 14, device 16, requires_grad 16, contiguity 0, strides 9, new 1
