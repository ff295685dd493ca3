# run: static
# The operator itself raises, whatever lies in the arena.
def f(weight, indices, offsets, mode: int):
  a = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, None)[0]
  b = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, 1)[0]
  return torch.relu(a + b)
# let: w = torch.arange(12.).view([6, 2])
# call: f(w, torch.tensor([0, 1, 6, 2]), torch.tensor([0, 1, 1]), 0)
# ---- expect
The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "bags-out-of-range.py", line 4, in f
def f(weight, indices, offsets, mode: int):
  a = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, None)[0]
      ~~~~~~~~~~~~~~~~~~~ <--- HERE
  b = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, 1)[0]
  return torch.relu(a + b)
RuntimeError: embedding_bag: index 6 is out of range for a weight of 6 rows
