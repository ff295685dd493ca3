# run: run
def f(x, z: complex):
  y = torch.view_as_complex(x) * z
  return y, y.real, y.abs(), y.conj() * 1
# call: f(torch.ones(1, 2), 1+2j)
# ---- expect
f(torch.ones(1, 2), 1+2j) -> (tensor([(-1+3j)], dtype=complex64), tensor([-1.0]), tensor([3.1623]), tensor([(-1-3j)], dtype=complex64))
  result[1] shares memory with result[0]
