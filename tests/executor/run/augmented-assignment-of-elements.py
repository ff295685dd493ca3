# run: run
def f(x, l: List[Tensor], d: Dict[str, int]):
  x[0] += 1
  x[:, 1] *= 5
  l[0] += x
  d["n"] += 3
  return x.sum()
# call: f(torch.ones(2, 2), [torch.zeros(2, 2)], {"n": 1})
# ---- expect
f(torch.ones(2, 2), [torch.zeros(2, 2)], {"n": 1}) -> tensor(18.0)
  x becomes tensor([[2.0, 10.0], [1.0, 5.0]])
  l becomes [tensor([[2.0, 10.0], [1.0, 5.0]])]
  d becomes {'n': 4}
