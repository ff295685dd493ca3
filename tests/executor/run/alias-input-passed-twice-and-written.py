# run: run
# The second name sees the write through the first.
def f(x, y):
  x.add_(1)
  z = y * 2
  y.mul_(3)
  return x + z, y
# let: a = torch.arange(3.)
# call: f(a, a)
# call: f(a, a.clone())
# call: f(a[1:], a[:2])
# ---- expect
f(a, a) -> (tensor([5.0, 10.0, 15.0]), tensor([3.0, 6.0, 9.0]))
  x becomes tensor([3.0, 6.0, 9.0])
  result[1] is x
f(a, a.clone()) -> (tensor([1.0, 4.0, 7.0]), tensor([0.0, 3.0, 6.0]))
  x becomes tensor([1.0, 2.0, 3.0])
  y becomes tensor([0.0, 3.0, 6.0])
  result[1] is y
f(a[1:], a[:2]) -> (tensor([6.0, 7.0]), tensor([0.0, 6.0]))
  x becomes tensor([6.0, 3.0])
  y becomes tensor([0.0, 6.0])
  let a becomes tensor([0.0, 6.0, 3.0])
  result[1] shares memory with x
