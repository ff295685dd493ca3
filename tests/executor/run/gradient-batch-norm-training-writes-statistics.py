# run: run
def f(x, m, v, training: bool):
  y = torch.batch_norm(x * 1, None, None, m, v, training, 0.1, 1e-5, False)
  return y * x, m + 0
# call: f(torch.randn(4, 2).requires_grad_(), torch.zeros(2), torch.ones(2), True)
# call: f(torch.randn(4, 2).requires_grad_(), torch.zeros(2), torch.ones(2), False)
# ---- expect
f(torch.randn(4, 2).requires_grad_(), torch.zeros(2), torch.ones(2), True) -> (tensor([[2.0352, 0.074646], [2.8441, 0.41669], [0.57789, 2.1267], [0.20875, 0.87317]], requires_grad=True), tensor([-0.032974, -0.0071392]))
  m becomes tensor([-0.032974, -0.0071392])
  v becomes tensor([1.1675, 1.0016])
  gradient of x: tensor([[1.1708, -0.16233], [-1.6551, 0.77265], [-0.99232, -2.6386], [1.2427, 2.2619]])
f(torch.randn(4, 2).requires_grad_(), torch.zeros(2), torch.ones(2), False) -> (tensor([[2.3747, 0.0861], [4.7471, 0.32311], [1.1762, 1.9561], [0.16269, 0.70228]], requires_grad=True), tensor([0.0, 0.0]))
  gradient of x: tensor([[3.082, -0.67069], [-5.6026, 1.6241], [-3.4085, -4.7952], [1.4981, 3.3521]])
