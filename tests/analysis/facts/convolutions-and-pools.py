# run: facts
def f(x, w, b: Optional[Tensor]):
  y = torch.conv2d(x, w, b)
  return torch.max_pool2d(y, [2, 2]), torch.adaptive_avg_pool2d(y, [1, 1]), torch.flatten(y, 1)
# call: f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
# ---- expect
# f(torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), None)
%x: Float(%x.size(0), %x.size(1), %x.size(2), %x.size(3)) on cpu, requires no gradient
%w: Float(%w.size(0), %w.size(1), %w.size(2), %w.size(3)) on cpu, requires no gradient
%y: Float(%x.size(0), %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)), %x.size(2) + -1 * %w.size(2) + 1, %x.size(3) + -1 * %w.size(3) + 1) on cpu, new
%15: Float(%x.size(0), %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)), ((%x.size(2) + -1 * %w.size(2) + -1) // (2)) + 1, ((%x.size(3) + -1 * %w.size(3) + -1) // (2)) + 1) on cpu, new
%19: Float(%x.size(0), %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)), 1, 1) on cpu, new
%22: Float(%x.size(0), %x.size(2) * %x.size(3) * %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + -1 * %x.size(2) * %w.size(0) * %w.size(3) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + -1 * %x.size(3) * %w.size(0) * %w.size(2) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + %w.size(0) * %w.size(2) * %w.size(3) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + %x.size(2) * %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + %x.size(3) * %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + -1 * %w.size(0) * %w.size(2) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + -1 * %w.size(0) * %w.size(3) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904)) + %w.size(0) * ((%w.size(1) + 4611686018427387903) // (4611686018427387904))) on cpu
known of 6 tensors: dtype 6, rank 6, device 6, requires_grad 2, contiguity 0, strides 0, new 3
