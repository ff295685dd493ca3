# run: run
def f(q, k, v):
  return torch.nn.functional.scaled_dot_product_attention(q, k, v) * 2
# call: f(torch.randn(1, 1, 2, 4).requires_grad_(), torch.randn(1, 1, 2, 4).requires_grad_(), torch.randn(1, 1, 2, 4).requires_grad_())
# ---- expect
f(torch.randn(1, 1, 2, 4).requires_grad_(), torch.randn(1, 1, 2, 4).requires_grad_(), torch.randn(1, 1, 2, 4).requires_grad_()) -> tensor([[[[-0.11483, 1.9234, 0.2064, -0.53653], [-0.66398, 1.2883, -0.8675, -1.8755]]]], requires_grad=True)
  gradient of q: tensor([[[[-0.26571, 2.908, -0.9176, -0.11473], [-0.29125, 3.1876, -1.0058, -0.12576]]]])
  gradient of k: tensor([[[[-0.68106, 3.5317, 3.358, -2.8753], [0.68106, -3.5317, -3.358, 2.8753]]]])
  gradient of v: tensor([[[[3.2701, 3.6148, 3.9595, 4.3043], [1.8728, 2.0995, 2.3262, 2.5529]]]])
  gradients raise error: derivative for aten::_scaled_dot_product_flash_attention_for_cpu_backward is not implemented
