# run: run
# A call whose result is unused counts, too.
def f(x, m, v, training: bool):
  a = torch.batch_norm(x, None, None, m, v, training, 0.1, 1e-5, False)
  b = torch.batch_norm(x, None, None, m, v, training, 0.1, 1e-5, False)
  for i in range(2):
    torch.batch_norm(x, None, None, m, v, training, 0.1, 1e-5, False)
  before = m + 0
  torch.instance_norm(x.unsqueeze(-1).expand(4, 2, 3), None, None, m, v, training, 0.1, 1e-5, False)
  return a + b, before
# call: f(torch.randn(4, 2), torch.zeros(2), torch.ones(2), True)
# call: f(torch.randn(4, 2), torch.zeros(2), torch.ones(2), False)
# ---- expect
f(torch.randn(4, 2), torch.zeros(2), torch.ones(2), True) -> (tensor([[2.6414, -0.50878], [-2.6107, 1.4661], [-1.0657, -3.0412], [1.0351, 2.0839]]), tensor([-0.1134, -0.024552]))
  m becomes tensor([-0.13503, -0.029236])
  v becomes tensor([1.4185, 0.90487])
f(torch.randn(4, 2), torch.zeros(2), torch.ones(2), False) -> (tensor([[3.082, -0.58685], [-4.3576, 1.1369], [-2.169, -2.7972], [0.80669, 1.676]]), tensor([0.0, 0.0]))
