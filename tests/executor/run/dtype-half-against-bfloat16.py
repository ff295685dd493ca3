# run: run
def f(x, y):
  return x + y, torch.where(x > y, x, y)
# call: f(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.bfloat16))
# call: f(torch.ones(2, dtype=torch.bfloat16), torch.ones(2))
# ---- expect
f(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.bfloat16)) -> (tensor([2.0, 2.0]), tensor([1.0, 1.0]))
f(torch.ones(2, dtype=torch.bfloat16), torch.ones(2)) -> (tensor([2.0, 2.0]), tensor([1.0, 1.0]))
