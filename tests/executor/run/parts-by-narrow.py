# run: run
# As torch.fx writes them: parts of new tensors are filled one by one, with gradients; one that is too long raises.
def f(x, n: int):
  y = x * 2
  a = y.new_zeros(y.shape[:-1] + [4])
  b = y.new_zeros(y.shape[:-1] + [n])
  a.narrow(-1, 0, 2).copy_(y.narrow(-1, 1, 2))
  a.narrow(-1, 2, 2).add_(y.narrow(-1, 0, 2))
  b.narrow(-1, 0, 3).copy_(y)
  return torch.tanh(a).sin() * 2 + 1, (b * b).exp().sum(-1), y.sum()
# call: f(torch.ones(2, 3), 3)
# call: f(torch.arange(6.0).reshape(2, 3), 4)
# call: f(torch.arange(6.0).reshape(2, 3).requires_grad_(), 3)
# call: f(torch.ones(2, 3), 2)
# call: f(torch.ones(1, 3).requires_grad_(), 3)
# ---- expect
f(torch.ones(2, 3), 3) -> (tensor([[2.643, 2.643, 2.643, 2.643], [2.643, 2.643, 2.643, 2.643]]), tensor([163.79, 163.79]), tensor(12.0))
f(torch.arange(6.0).reshape(2, 3), 4) -> (tensor([[2.643, 2.6822, 1.0, 2.643], [2.6829, 2.6829, 2.6829, 2.6829]]), tensor([8.8862e+06, inf]), tensor(30.0))
f(torch.arange(6.0).reshape(2, 3).requires_grad_(), 3) -> (tensor([[2.643, 2.6822, 1.0, 2.643], [2.6829, 2.6829, 2.6829, 2.6829]], requires_grad=True), tensor([8.8862e+06, inf], requires_grad=True), tensor(30.0, requires_grad=True))
  gradient of x: tensor([[7.1429, 439.18, 1.4218e+08], [2.0694e+17, 3.9905e+29, inf]])
f(torch.ones(2, 3), 2) raises RuntimeError: start (0) + length (3) exceeds dimension size (2).
f(torch.ones(1, 3).requires_grad_(), 3) -> (tensor([[2.643, 2.643, 2.643, 2.643]], requires_grad=True), tensor([163.79], requires_grad=True), tensor(6.0, requires_grad=True))
  gradient of x: tensor([[439.05, 439.27, 439.0]])
