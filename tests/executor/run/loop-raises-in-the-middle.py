# run: run
def f(x, l: List[int]):
  t = 0
  for i in range(4):
    x.add_(1)
    t += 12 // l[i]
    print(t)
  return t
# call: f(torch.zeros(1), [1, 2, 3, 4])
# call: f(torch.zeros(1), [1, 2, 0, 4])
# call: f(torch.zeros(1), [1, 2])
# ---- expect
f(torch.zeros(1), [1, 2, 3, 4]) -> 25
  x becomes tensor([4.0])
  prints 12
  prints 18
  prints 22
  prints 25
f(torch.zeros(1), [1, 2, 0, 4]) raises RuntimeError: division by 0
  x becomes tensor([3.0])
  prints 12
  prints 18
f(torch.zeros(1), [1, 2]) raises IndexError: list index out of range
  x becomes tensor([3.0])
  prints 12
  prints 18
