# run: facts
def f(grad, mask):
  return torch.native_dropout_backward(grad, mask, 1.25)
# call: f(torch.ones(2, 1), torch.ones(3).bool())
# call: f(torch.ones(2).long(), torch.ones(2).bool())
# ---- expect
# f(torch.ones(2, 1), torch.ones(3).bool())
%grad: Float(%grad.size(0), %grad.size(1)) on cpu, requires no gradient
%mask: Bool(%mask.size(0)) on cpu, requires no gradient
%3: Float(%grad.size(0), broadcast(%grad.size(1), %mask.size(0))) on cpu, dense, new, requires no gradient
known of 3 tensors: dtype 3, rank 3, device 3, requires_grad 3, contiguity 1, strides 0, new 1
# f(torch.ones(2).long(), torch.ones(2).bool())
%grad: Long(%grad.size(0)) on cpu, requires no gradient
%mask: Bool(%mask.size(0)) on cpu, requires no gradient
%3: Float(broadcast(%grad.size(0), %mask.size(0))) on cpu, dense, new, requires no gradient
known of 3 tensors: dtype 3, rank 3, device 3, requires_grad 3, contiguity 1, strides 0, new 1
