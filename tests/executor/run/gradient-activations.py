# run: run
def f(x):
  y = torch.relu(x) + torch.sigmoid(x) * torch.tanh(x)
  z = torch.nn.functional.gelu(x) + torch.nn.functional.silu(x) + torch.nn.functional.softplus(x)
  return y * z, torch.nn.functional.leaky_relu(x, 0.1), torch.nn.functional.elu(x), torch.nn.functional.hardtanh(x)
# call: f(torch.tensor([-1.5, 0., 0.5, 30.]).requires_grad_())
# ---- expect
f(torch.tensor([-1.5, 0., 0.5, 30.]).requires_grad_()) -> (tensor([0.028473, 0.0, 1.2847, 2790.0], requires_grad=True), tensor([-0.15, 0.0, 0.5, 30.0], requires_grad=True), tensor([-0.77687, 0.0, 0.5, 30.0], requires_grad=True), tensor([-1.0, 0.0, 0.5, 1.0], requires_grad=True))
  gradient of x: tensor([0.33847, 3.2621, 12.272, 370.0])
