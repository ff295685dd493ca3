# run: facts
# What the loop carries keeps its rank, since no iteration takes the branch that would change it.
def f(x, n: int):
  h = x * 2
  for i in range(n):
    is_batched = h.dim() == 2
    g = h if is_batched else h.unsqueeze(0)
    g = torch.sigmoid(g) + x
    if not is_batched:
      h = g.squeeze(0)
    elif h.dim() != 2 or i > 3:
      h = g
    else:
      h = g * h
  return h + 1
# call: f(torch.ones(2, 3), 2)
# call: f(torch.ones(3), 2)
# ---- expect
# f(torch.ones(2, 3), 2)
%x: Float(%x.size(0), %x.size(1)) on cpu, requires no gradient
%h.1: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
  %h.2: Float(%x.size(0), %x.size(1)) on cpu, dense, requires no gradient
    %11: Float(1, %x.size(0), %x.size(1)) on cpu, strides (%11.stride(0), %h.2.stride(0), %h.2.stride(1)), requires no gradient
  %g.1: Float(%x.size(0), %x.size(1)) on cpu, dense, strides (%h.2.stride(0), %h.2.stride(1)), requires no gradient
  %13: Float(%x.size(0), %x.size(1)) on cpu, dense, strides (%h.2.stride(0), %h.2.stride(1)), new, requires no gradient
  %g: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
    %h.3: Float of unknown rank on cpu, requires no gradient
      %h.4: Float(%x.size(0), %x.size(1)) on cpu, dense, new, requires no gradient
    %h.5: Float(%x.size(0), %x.size(1)) on cpu, dense, requires no gradient
  %h.6: Float(%x.size(0), %x.size(1)) on cpu, dense, requires no gradient
%h: Float(%x.size(0), %x.size(1)) on cpu, dense, requires no gradient
%32: Float(%x.size(0), %x.size(1)) on cpu, dense, strides (%h.stride(0), %h.stride(1)), new, requires no gradient
known of 13 tensors: dtype 13, rank 12, device 13, requires_grad 13, contiguity 10, strides 4, new 5
# f(torch.ones(3), 2)
%x: Float(%x.size(0)) on cpu, requires no gradient
%h.1: Float(%x.size(0)) on cpu, dense, new, requires no gradient
  %h.2: Float(%x.size(0)) on cpu, requires no gradient
    %11: Float(1, %x.size(0)) on cpu, strides (%11.stride(0), %h.2.stride(0)), requires no gradient
  %g.1: Float(1, %x.size(0)) on cpu, strides (%g.1.stride(0), %h.2.stride(0)), requires no gradient
  %13: Float(1, %x.size(0)) on cpu, dense, new, requires no gradient
  %g: Float(1, %x.size(0)) on cpu, dense, new, requires no gradient
    %h.3: Float(%x.size(0)) on cpu, strides (%g.stride(1)), requires no gradient
      %h.4: Float(1, %x.size(0)) on cpu, dense, new, requires no gradient
    %h.5: Float(1, %x.size(0)) on cpu, dense, strides (%g.stride(0), %g.stride(1)), requires no gradient
  %h.6: Float(%x.size(0)) on cpu, strides (%g.stride(1)), requires no gradient
%h: Float(%x.size(0)) on cpu, requires no gradient
%32: Float(%x.size(0)) on cpu, dense, new, requires no gradient
known of 13 tensors: dtype 13, rank 13, device 13, requires_grad 13, contiguity 6, strides 5, new 5
