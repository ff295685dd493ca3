# run: run
def lstm(x, h, c, w, u):
  y, k = torch.lstm_cell(x, [h, c], w, u)
  return torch.tanh(y) + 1, k * 2, y.dtype, k.dtype

def gru(x, h, w, u):
  y = torch.gru_cell(x, h, w, u)
  return torch.tanh(y) + 1, y.dtype

def simple(x, h, w, u):
  y, z = torch.rnn_tanh_cell(x, h, w, u), torch.rnn_relu_cell(x, h, w, u)
  return y * 2 + 1, z * 2 + 1, y.dtype, z.dtype

# let: x, h, c = torch.randn(2, 3), torch.randn(2, 2), torch.randn(2, 2)
# let: w, u = torch.randn(8, 3), torch.randn(8, 2)
# call: lstm(x, h.bfloat16(), c.bfloat16(), w, u.bfloat16())
# call: lstm(x, h, c.double(), w, u)
# call: lstm(x, h, c, w, u)
# call: gru(x, h.bfloat16(), w[:6], u[:6].bfloat16())
# call: gru(x, h.double(), w[:6], u[:6].double())
# call: gru(x.double().requires_grad_(), h.requires_grad_(), w[:6].double(), u[:6])
# call: gru(x, h, w[:6], u[:6])
# call: simple(x, h.bfloat16(), w[:2], u[:2].bfloat16())
# call: simple(x.double(), h, w[:2].double(), u[:2])
# call: simple(x, h, w[:2], u[:2])
# ---- expect
lstm(x, h.bfloat16(), c.bfloat16(), w, u.bfloat16()) -> (tensor([[1.2969, 1.3828], [1.2188, 1.5156]], dtype=bfloat16), tensor([[0.64062, 1.3516], [0.47656, 1.5312]], dtype=bfloat16), 15, 15)
lstm(x, h, c.double(), w, u) -> (tensor([[1.2973, 1.3809], [1.2232, 1.5142]], dtype=float64), tensor([[0.63658, 1.3515], [0.47585, 1.5301]], dtype=float64), 7, 7)
lstm(x, h, c, w, u) -> (tensor([[1.2973, 1.3809], [1.2232, 1.5142]]), tensor([[0.63658, 1.3515], [0.47585, 1.5301]]), 6, 6)
gru(x, h.bfloat16(), w[:6], u[:6].bfloat16()) -> (tensor([[1.4389, 1.6903], [1.6291, 1.7082]]), 6)
gru(x, h.double(), w[:6], u[:6].double()) -> (tensor([[1.438, 1.6894], [1.6284, 1.7078]], dtype=float64), 7)
gru(x.double().requires_grad_(), h.requires_grad_(), w[:6].double(), u[:6]) -> (tensor([[1.438, 1.6894], [1.6284, 1.7078]], dtype=float64, requires_grad=True), 7)
  gradient of x: tensor([[0.026235, -0.018448, 0.0091238], [0.14401, -0.17083, -0.02979]], dtype=float64)
  gradient of h: tensor([[0.62693, 0.55238], [-0.377, -0.38612]])
gru(x, h, w[:6], u[:6]) -> (tensor([[1.438, 1.6894], [1.6284, 1.7078]]), 6)
simple(x, h.bfloat16(), w[:2], u[:2].bfloat16()) -> (tensor([[2.9062, 1.0625], [-0.11719, 2.2812]], dtype=bfloat16), tensor([[4.75, 1.0625], [1.0, 2.5312]], dtype=bfloat16), 15, 15)
simple(x.double(), h, w[:2].double(), u[:2]) -> (tensor([[2.9068, 1.0592], [-0.10961, 2.2854]]), tensor([[4.7355, 1.0592], [1.0, 2.5255]]), 6, 6)
simple(x, h, w[:2], u[:2]) -> (tensor([[2.9068, 1.0592], [-0.10961, 2.2854]]), tensor([[4.7355, 1.0592], [1.0, 2.5255]]), 6, 6)
