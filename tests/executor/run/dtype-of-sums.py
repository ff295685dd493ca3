# run: run
def f(x):
  return x.sum(), x.cumsum(0), x.prod(), x.max()
# call: f(torch.tensor([True, True, False]))
# call: f(torch.ones(2, dtype=torch.uint8) * 200)
# call: f(torch.ones(2, dtype=torch.float16))
# ---- expect
f(torch.tensor([True, True, False])) -> (tensor(2, dtype=int64), tensor([1, 2, 2], dtype=int64), tensor(0, dtype=int64), tensor(True, dtype=bool))
f(torch.ones(2, dtype=torch.uint8) * 200) -> (tensor(400, dtype=int64), tensor([200, 400], dtype=int64), tensor(40000, dtype=int64), tensor(200, dtype=uint8))
f(torch.ones(2, dtype=torch.float16)) -> (tensor(2.0, dtype=float16), tensor([1.0, 2.0], dtype=float16), tensor(1.0, dtype=float16), tensor(1.0, dtype=float16))
