# run: run
def f(x, y: List[int]):
  a = x.reshape(x.shape[:-1] + [2, 4])
  s = a.shape[1:]
  b = (a * 2).reshape(s[-1:] + [-1]).relu()
  t = list(x.shape)
  t[0] = 1
  return b + 1, s, (x[:1] + 1).reshape(t + [1])
# call: f(torch.randn(3, 8), [1])
# call: f(torch.randn(0, 8), [1])
# call: f(torch.randn(1, 8).requires_grad_(), [1])
# call: f(torch.randn(2, 1, 8), [1])
# call: f(torch.randn(2, 3), [1])
# ---- expect
f(torch.randn(3, 8), [1]) -> (tensor([[1.0, 1.0, 1.0, 1.0, 2.6974, 2.384], [1.0, 1.0, 1.9362, 1.0, 3.8873, 1.5321], [1.3329, 2.7488, 1.0, 1.0, 2.8637, 3.518], [5.01, 1.1075, 2.2361, 1.0, 1.0, 1.0]]), [2, 4], tensor([[[-0.12584], [-0.15236], [0.74942], [0.56612], [1.8487], [1.692], [0.68399], [-1.1152]]]))
f(torch.randn(0, 8), [1]) raises RuntimeError: shape '[1, 8, 1]' is invalid for input of size 0
f(torch.randn(1, 8).requires_grad_(), [1]) -> (tensor([[4.082, 1.0], [1.0, 2.1369], [1.0, 1.0], [1.8067, 2.6761]], requires_grad=True), [2, 4], tensor([[[2.541], [0.70657], [-1.1788], [1.5684], [-0.084522], [-0.3986], [1.4033], [1.838]]], requires_grad=True))
  gradient of x: tensor([[3.0, 1.1429, 1.2857, 4.2857, 1.5714, 1.7143, 5.5714, 6.0]])
f(torch.randn(2, 1, 8), [1]) -> (tensor([[1.0, 1.0, 1.0, 1.0], [2.6974, 2.384, 1.0, 1.0], [1.6445, 1.0, 1.7, 1.6163], [1.2397, 3.4753, 3.2336, 1.0]]), [1, 2, 4], tensor([[[[-0.12584], [-0.15236], [0.74942], [0.56612], [1.8487], [1.692], [0.68399], [-1.1152]]]]))
f(torch.randn(2, 3), [1]) raises RuntimeError: shape '[2, 2, 4]' is invalid for input of size 6
