# run: run
# Of two operators that raise, the first one's exception.
def f(x, y, l: List[int]):
  a = x + y
  b = l[5]
  return a * b
# call: f(torch.ones(2), torch.ones(3), [1])
# call: f(torch.ones(2), torch.ones(2), [1])
# ---- expect
f(torch.ones(2), torch.ones(3), [1]) raises RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
f(torch.ones(2), torch.ones(2), [1]) raises IndexError: list index out of range
