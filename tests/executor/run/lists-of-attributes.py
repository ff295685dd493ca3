# run: run
class M:
  def __init__(self, dims: List[int]):
    self.dims = dims
    self.other = dims
  def add(self, n: int):
    self.dims.append(n)
def read(m: M, x):
  y = x
  for d in m.dims:
    y = torch.cat([y, x * d])
  return y, m.dims
def write(m: M, x, n: int):
  a = len(m.dims)
  m.add(n)
  m.other[0] = 7
  y = x
  for d in m.dims:
    y = y * d + a
  return y, m.dims, m.other, len(m.dims)
def passed(dims: List[int], x):
  m = M(dims)
  dims.append(4)
  b = read(m, x)
  a = write(m, x, 5)
  dims.append(6)
  return a, b, read(m, x), dims
# call: read(M([1, 2]), torch.ones(1))
# call: read(M([1, 3]), torch.ones(1))
# call: read(M([]), torch.ones(1))
# call: read(M([5, 6, 7]), torch.ones(1))
# call: write(M([1, 2]), torch.ones(1), 3)
# call: write(M([1, 2, 3]), torch.ones(1), 4)
# call: passed([1, 2], torch.ones(2))
# ---- expect
read(M([1, 2]), torch.ones(1)) -> (tensor([1.0, 1.0, 2.0]), [1, 2])
read(M([1, 3]), torch.ones(1)) -> (tensor([1.0, 1.0, 3.0]), [1, 3])
read(M([]), torch.ones(1)) -> (tensor([1.0]), [])
  result[0] is x
read(M([5, 6, 7]), torch.ones(1)) -> (tensor([1.0, 5.0, 6.0, 7.0]), [5, 6, 7])
write(M([1, 2]), torch.ones(1), 3) -> (tensor([62.0]), [7, 2, 3], [7, 2, 3], 3)
  m becomes M(dims=[7, 2, 3], other=[7, 2, 3])
write(M([1, 2, 3]), torch.ones(1), 4) -> (tensor([291.0]), [7, 2, 3, 4], [7, 2, 3, 4], 4)
  m becomes M(dims=[7, 2, 3, 4], other=[7, 2, 3, 4])
passed([1, 2], torch.ones(2)) -> ((tensor([478.0, 478.0]), [7, 2, 4, 5, 6], [7, 2, 4, 5, 6], 4), (tensor([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]), [7, 2, 4, 5, 6]), (tensor([1.0, 1.0, 7.0, 7.0, 2.0, 2.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0]), [7, 2, 4, 5, 6]), [7, 2, 4, 5, 6])
  dims becomes [7, 2, 4, 5, 6]
