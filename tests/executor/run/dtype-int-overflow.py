# run: run
def f(x, n: int):
  return x * n, x + n, -x, x << 1
# call: f(torch.ones(1, dtype=torch.int8) * 127, 2)
# call: f(torch.tensor([9223372036854775807]), 2)
# call: f(torch.ones(1, dtype=torch.int8), 300)
# ---- expect
f(torch.ones(1, dtype=torch.int8) * 127, 2) -> (tensor([-2], dtype=int8), tensor([-127], dtype=int8), tensor([-127], dtype=int8), tensor([-2], dtype=int8))
f(torch.tensor([9223372036854775807]), 2) -> (tensor([-2], dtype=int64), tensor([-9223372036854775807], dtype=int64), tensor([-9223372036854775807], dtype=int64), tensor([-2], dtype=int64))
f(torch.ones(1, dtype=torch.int8), 300) -> (tensor([44], dtype=int8), tensor([45], dtype=int8), tensor([-1], dtype=int8), tensor([2], dtype=int8))
