# run: run
# Also where nothing uses the element, and where the index is known once the call is inlined.
def pick(n: int) -> int:
  t = (1, 2, 3)
  return t[n]
def f(x, n: int):
  for i in range(3):
    x = torch.relu(x) + i
  t = (4, 5, 6)
  unused = t[n]
  return x + pick(n)
def g(x):
  return x * 2 + pick(100000000)
def h(x):
  unused = pick(-4)
  return x * 2 + pick(-3)
# call: f(torch.ones(2), 1)
# call: f(torch.ones(2), -3)
# call: f(torch.ones(2), 3)
# call: g(torch.ones(2))
# call: h(torch.ones(2))
# ---- expect
f(torch.ones(2), 1) -> tensor([6.0, 6.0])
f(torch.ones(2), -3) -> tensor([5.0, 5.0])
f(torch.ones(2), 3) raises IndexError: Tuple list index out of range
g(torch.ones(2)) raises IndexError: Tuple list index out of range
h(torch.ones(2)) raises IndexError: Tuple list index out of range
