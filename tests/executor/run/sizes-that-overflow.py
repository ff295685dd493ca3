# run: run
# Sizes whose products do not fit are what the operators make of them: an error, or nothing where another size is 0.
def repeated(x, n: int, m: int):
  y = torch.relu(x)
  return (y.repeat([n, m]) + 1).sum()

def padded(x, w, p: int):
  y = torch.relu(x)
  return torch.conv2d(y, w, None, [1, 1], [p, p]).sum()
# call: repeated(torch.ones([1, 4]), 2, 3)
# call: repeated(torch.ones([1, 4]), 0, 4611686018427387904)
# call: repeated(torch.ones([1, 4]), 4611686018427387904, 1)
# call: padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 1)
# call: padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 4611686018427387904)
# call: padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 9223372036854775807)
# ---- expect
repeated(torch.ones([1, 4]), 2, 3) -> tensor(48.0)
repeated(torch.ones([1, 4]), 0, 4611686018427387904) -> tensor(0.0)
repeated(torch.ones([1, 4]), 4611686018427387904, 1) raises RuntimeError: Storage size calculation overflowed with sizes=[4611686018427387904, 4]
padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 1) -> tensor(64.0, dtype=float64)
padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 4611686018427387904) raises RuntimeError: Given padding=4611686018427387904 at dimension 0 , expected padding to be at most 4611686018427387903
padded(torch.ones([1, 1, 4, 4], dtype=torch.float64), torch.ones([1, 1, 2, 2], dtype=torch.float64), 9223372036854775807) raises RuntimeError: Given padding=9223372036854775807 at dimension 0 , expected padding to be at most 4611686018427387903
