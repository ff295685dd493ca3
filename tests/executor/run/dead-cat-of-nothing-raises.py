# run: run
def f(l: List[Tensor]):
  torch.cat(l)
  torch.stack(l)
  return len(l)
# call: f([torch.ones(2)])
# call: f([torch.ones(2), torch.ones(3)])
# call: f([])
# ---- expect
f([torch.ones(2)]) -> 1
f([torch.ones(2), torch.ones(3)]) raises RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1
f([]) raises RuntimeError: torch.cat(): expected a non-empty list of Tensors
