# run: run
def lstm(x, h, c, w, u):
  y, n, k = torch.lstm(x, [h, c], [w, u], False, 1, 0., False, False, False)
  return torch.tanh(y) + 1, n * 2, k * 2, y.dtype, n.dtype, k.dtype

def gru(x, h, w, u):
  y, n = torch.gru(x, h, [w, u], False, 1, 0., False, False, False)
  return torch.tanh(y) + 1, n * 2, y.dtype, n.dtype

def simple(x, h, w, u):
  y, n = torch.rnn_tanh(x, h, [w, u], False, 1, 0., False, False, False)
  z, m = torch.rnn_relu(x, h, [w, u], False, 1, 0., False, False, False)
  return torch.tanh(y) + 1, n * 2, z * 2 + 1, m.dtype

# let: x, h, c = torch.randn(2, 1, 3), torch.randn(1, 1, 2), torch.randn(1, 1, 2)
# let: w, u = torch.randn(8, 3), torch.randn(8, 2)
# call: lstm(x.double(), h, c, w.double(), u)
# call: gru(x, h.double(), w[:6], u[:6].double())
# call: simple(x, h.bfloat16(), w[:2], u[:2].bfloat16())
# call: simple(x.double(), h, w[:2].double(), u[:2])
# ---- expect
lstm(x.double(), h, c, w.double(), u) -> (tensor([[[0.95925, 1.0004]], [[0.89093, 1.0014]]]), tensor([[[-0.21902, 0.0027947]]]), tensor([[[-4.1228, 1.2437]]]), 6, 6, 6)
gru(x, h.double(), w[:6], u[:6].double()) -> (tensor([[[1.3283, 1.7343]], [[1.0851, 1.74]]], dtype=float64), tensor([[[0.17064, 1.901]]], dtype=float64), 7, 7)
simple(x, h.bfloat16(), w[:2], u[:2].bfloat16()) -> (tensor([[[1.7656, 1.7578]], [[1.7656, 1.5312]]], dtype=bfloat16), tensor([[[2.0, 1.1953]]], dtype=bfloat16), tensor([[[8.3125, 6.5312]], [[18.875, 2.9844]]], dtype=bfloat16), 15)
simple(x.double(), h, w[:2].double(), u[:2]) -> (tensor([[[1.761, 1.7583]], [[1.7615, 1.534]]]), tensor([[[1.9996, 1.1914]]]), tensor([[[8.3096, 6.5421]], [[18.899, 2.9652]]]), 6)
