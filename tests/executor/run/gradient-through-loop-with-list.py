# run: run
def f(x, n: int):
  l: List[Tensor] = [x]
  for i in range(n):
    l.append(torch.tanh(l[i] * x))
  return l[-1], torch.stack(l).sum()
# call: f(torch.randn(2).requires_grad_(), 3)
# call: f(torch.randn(2).requires_grad_(), 0)
# ---- expect
f(torch.randn(2).requires_grad_(), 3) -> (tensor([0.8851, 0.0073933], requires_grad=True), tensor(4.0913, requires_grad=True))
  gradient of x: tensor([1.834, 0.37262])
f(torch.randn(2).requires_grad_(), 0) -> (tensor([1.541, -0.29343], requires_grad=True), tensor(1.2476, requires_grad=True))
  result[0] is x
  gradient of x: tensor([2.0, 3.0])
